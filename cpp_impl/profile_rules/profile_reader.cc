#include "profile_rules/profile_reader.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "profile/file_names.h"
#include "profile/json_cursor.h"

namespace smdebug::profile_rules {
namespace {

using profile::ProfileFile;
using profile::TextPieces;
using profile::TimelineEvent;

constexpr double kMicroseconds = 1e6;
// Files whose stamp is farther away hold no event of a range.
constexpr int64_t kMargin = 180 * profile::kMicrosecondsPerSecond;

int64_t Later(int64_t time, int64_t margin) {
  return time > INT64_MAX - margin ? INT64_MAX : time + margin;
}

std::vector<ProfileFile> SystemFilesOf(const std::vector<ProfileFile> &all, int64_t begin,
                                       int64_t end) {
  std::vector<ProfileFile> files;
  for (const ProfileFile &file : all) {
    if (Later(file.stamp, kMargin) >= begin && file.stamp <= Later(end, kMargin)) {
      files.push_back(file);
    }
  }
  return files;
}

// The file after the range may hold an event that began in it.  Files come by kind.
std::vector<ProfileFile> TimelineFilesOf(const std::vector<ProfileFile> &all, int64_t begin,
                                         int64_t end) {
  std::vector<ProfileFile> files;
  for (const ProfileFile &file : all) {
    if (Later(file.stamp, kMargin) < begin) continue;
    files.push_back(file);
    if (file.stamp >= Later(end, kMargin)) break;
  }
  std::stable_sort(files.begin(), files.end(), [](const ProfileFile &a, const ProfileFile &b) {
    return FileTypeOf(a.type) < FileTypeOf(b.type);
  });
  return files;
}

// Fills what rules ask of a data loader's arguments.
void ReadArgs(std::string_view args, Span *span) {
  profile::JsonCursor cursor(args);
  std::string_view value;
  cursor.Object([&](std::string_view key) {
    if (!cursor.Value(&value)) return false;
    if (key == "pid") span->process = profile::WholeNumber(value).value_or(-1);
    if (key == "pin_memory") {
      span->pins_memory = static_cast<int8_t>(ToLower(value).find("true") != std::string::npos);
    }
    if (key == "num_workers") {
      span->loader_workers = static_cast<int32_t>(
          std::clamp<int64_t>(profile::WholeNumber(value).value_or(-1), -1, INT32_MAX));
    }
    return true;
  });
}

}  // namespace

void Events::Clear() {
  samples.clear();
  spans.clear();
}

ProfileReader::ProfileReader(std::shared_ptr<storage::Store> store, Logger logger, NameTable *names)
    : store_(std::move(store)), logger_(std::move(logger)), names_(names) {}

Result<ProfileReader> ProfileReader::Open(std::string_view path,
                                          const storage::StoreOptions &options,
                                          const Logger &logger, NameTable *names) {
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store,
                       storage::OpenStore(path, options, logger));
  ProfileReader reader(std::move(store), logger, names);
  SMD_RETURN_IF_ERROR(reader.List());
  if (reader.system_files_.empty() && reader.timeline_files_.empty()) {
    return Status(
        Code::kNotFound,
        StrCat(reader.Location(),
               " has no profile; give the folder that holds \"system\" or \"framework\""));
  }
  return reader;
}

Status ProfileReader::List() {
  SMD_ASSIGN_OR_RETURN(system_files_, profile::ListSystemFiles(*store_));
  // The original's readers skip the others.
  std::erase_if(system_files_,
                [](const ProfileFile &file) { return !profile::IsSystemNode(file.node); });
  SMD_ASSIGN_OR_RETURN(timeline_files_, profile::ListTimelineFiles(*store_));
  const auto &first = system_files_.empty() ? timeline_files_ : system_files_;
  if (!first.empty()) {
    first_time_ = first.front().stamp;
    last_time_ = first.back().stamp;
  }
  if (!timeline_files_.empty()) last_time_ = std::max(last_time_, timeline_files_.back().stamp);
  return Status::Ok();
}

Result<Events> ProfileReader::Between(int64_t begin, int64_t end) {
  SMD_RETURN_IF_ERROR(List());
  Events events;
  profile::FileTexts system(store_, SystemFilesOf(system_files_, begin, end));
  while (!system.IsAtEnd()) ReadFile(&system, true, &events);
  profile::FileTexts timeline(store_, TimelineFilesOf(timeline_files_, begin, end));
  while (!timeline.IsAtEnd()) ReadFile(&timeline, false, &events);
  const auto from = static_cast<double>(begin);
  const auto to = static_cast<double>(end);
  // As the original rounds: down, to nanoseconds.
  std::erase_if(events.samples, [&](const Sample &sample) {
    const double time = std::floor(sample.time * 1e9);
    return time < from * 1e3 || time > to * 1e3;
  });
  std::erase_if(events.spans,
                [&](const Span &span) { return span.End() < from || span.start > to; });
  return events;
}

bool ProfileReader::IsAtEnd() const {
  return system_ && system_->IsAtEnd() && timeline_->IsAtEnd() && held_.IsEmpty();
}

template <class Item, class IsBefore>
void ProfileReader::Move(std::vector<Item> *from, std::vector<Item> *to, IsBefore is_before) {
  const auto rest = std::stable_partition(from->begin(), from->end(), is_before);
  to->insert(to->end(), from->begin(), rest);
  from->erase(from->begin(), rest);
}

bool ProfileReader::Next(int64_t end, Events *out) {
  if (!system_) {
    system_.emplace(store_, system_files_);
    timeline_.emplace(store_, timeline_files_);
  }
  out->Clear();
  const auto is_full = [&] { return held_.samples.size() + held_.spans.size() > kMostAtOnce; };
  const auto has_system = [&] { return !system_->IsAtEnd() && system_->Next().stamp < end; };
  // The stamp of a timeline is its end: files behind `end` may hold what began before.
  const auto has_timeline = [&] {
    return !timeline_->IsAtEnd() && timeline_end_ < Later(end, kMargin);
  };
  while (!is_full() && has_system()) ReadFile(&*system_, true, &held_);
  while (!is_full() && has_timeline()) {
    timeline_end_ = timeline_->Next().stamp;
    ReadFile(&*timeline_, false, &held_);
  }
  const auto limit = static_cast<double>(end);
  Move(&held_.samples, &out->samples,
       [&](const Sample &sample) { return sample.time * kMicroseconds < limit; });
  Move(&held_.spans, &out->spans, [&](const Span &span) { return span.start < limit; });
  std::stable_sort(out->spans.begin(), out->spans.end(),
                   [](const Span &a, const Span &b) { return a.file_type < b.file_type; });
  return has_system() || has_timeline();
}

void ProfileReader::ReadFile(profile::FileTexts *texts, bool is_system, Events *out) {
  const ProfileFile file = texts->Next();
  const std::string place = texts->Describe(file);
  auto text = texts->OpenNext();
  if (!text.IsOk()) {
    logger_.Warning(StrCat(text.GetStatus().Message(), "; skipped"));
  } else if (is_system) {
    ReadSamples(*std::move(text), place, out);
  } else {
    ReadSpans(*std::move(text), file, place, &texts->StateOf(file), out);
  }
}

void ProfileReader::Complain(const profile::Damage &damage, const std::string &place) const {
  if (damage.count == 0) return;
  const std::string others =
      damage.count == 1 ? "" : StrCat(", and so were ", damage.count - 1, " others in the file");
  logger_.Warning(StrCat(damage.Describe(place).Message(), "; skipped", others));
}

void ProfileReader::ReadSamples(TextPieces text, const std::string &place, Events *out) {
  profile::SystemFileReader reader(std::move(text));
  profile::SystemEvent event;
  while (true) {
    const auto is_there = reader.Next(&event);
    if (!is_there.IsOk()) logger_.Warning(StrCat(is_there.GetStatus().Message(), "; skipped"));
    if (!is_there.IsOk() || !*is_there) break;
    if (!std::isfinite(event.time) || !std::isfinite(event.value)) continue;
    Sample sample;
    sample.time = event.time;
    sample.value = event.value;
    sample.node = names_->IdOf(event.node.view);
    sample.name = names_->IdOf(event.name.view);
    sample.metric = MetricOf(event.type.view, event.name.view, event.dimension.view);
    out->samples.push_back(sample);
  }
  Complain(reader.Damages(), place);
}

void ProfileReader::ReadSpans(TextPieces text, const ProfileFile &file, const std::string &place,
                              profile::TimelineState *state, Events *out) {
  profile::TimelineFileReader reader(std::move(text), state);
  const NameId worker = names_->IdOf(file.node);
  const FileType type = FileTypeOf(file.type);
  TimelineEvent event;
  while (true) {
    const auto is_there = reader.Next(&event);
    if (!is_there.IsOk()) logger_.Warning(StrCat(is_there.GetStatus().Message(), "; skipped"));
    if (!is_there.IsOk() || !*is_there) break;
    // A clock that jumped gives negative durations.
    if (event.duration < 0) continue;
    out->spans.push_back(Understand(event, worker, type));
  }
  Complain(reader.Damages(), place);
}

Span ProfileReader::Understand(const TimelineEvent &event, NameId worker, FileType type) {
  Span span;
  span.start = event.start;
  span.duration = event.duration;
  span.step = event.step.value_or(-1);
  span.worker = worker;
  span.phase = names_->IdOf(event.phase);
  span.name = names_->IdOf(event.name);
  span.file_type = type;
  span.names_step = event.name.find("Step:ModeKeys") != std::string_view::npos;
  const auto key = std::make_pair(span.phase, span.name);
  const auto known = categories_.find(key);
  if (known != categories_.end()) {
    span.category = known->second;
  } else {
    span.category = CategoryOf(event.phase, event.name, type);
    categories_.emplace(key, span.category);
  }
  span.is_asynchronous = type == FileType::kHorovod || type == FileType::kDataParallel ||
                         IsOfDevice(span.phase, event.phase);
  if (event.phase.starts_with("DataLoader") && !event.args.empty()) ReadArgs(event.args, &span);
  return span;
}

bool ProfileReader::IsOfDevice(NameId phase, std::string_view name) {
  const auto known = devices_.find(phase);
  if (known != devices_.end()) return known->second;
  const bool is_device = CategoryOf(name, "", FileType::kPython) == Category::kDevice;
  devices_.emplace(phase, is_device);
  return is_device;
}

}  // namespace smdebug::profile_rules
