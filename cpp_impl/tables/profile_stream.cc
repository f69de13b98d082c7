#include "tables/profile_stream.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "profile/file_texts.h"
#include "profile/profile_files.h"
#include "profile/read_system.h"
#include "profile/read_timeline.h"
#include "tables/batch_builder.h"

namespace smdebug::tables {
namespace {

using profile::ProfileFile;
using profile::SystemEvent;
using profile::SystemFileReader;
using profile::TimelineEvent;
using profile::TimelineFileReader;

enum SystemColumn : size_t {
  kTrial,
  kNode,
  kSystemType,
  kSystemName,
  kDimension,
  kValue,
  kSystemTime,
  kTimestamp,
  kSystemFile,
};
enum EventColumn : size_t {
  kFileType = kNode + 1,
  kPhase,
  kName,
  kStep,
  kStart,
  kDuration,
  kPid,
  kTid,
  kPhasePid,
  kArgs,
  kStartUs,
  kEventFile,
};

constexpr double kMicroseconds = 1e6;
// Rows that are written between two looks at the size of a batch.
constexpr size_t kRowsAtOnce = 256;

// Files whose stamp is farther from the requested times hold none of their events: a minute of
// samples, and some time for a writer that is late.
constexpr int64_t kMargin = 180 * profile::kMicrosecondsPerSecond;

int64_t Later(int64_t time, int64_t margin) {
  return time > INT64_MAX - margin ? INT64_MAX : time + margin;
}

// A text that was decoded, hence UTF-8.
void AddText(std::string_view text, Column *out) {
  out->Fits(text.size()) ? out->AddTexts(text) : out->AddNulls();
}

// JSON as it is in the file.
void AddJson(std::string_view json, Column *out) {
  if (json.empty()) return out->AddNulls();
  IsUtf8(json) ? AddText(json, out) : AddText(WellFormed(json), out);
}

// Fills the columns that a request names.
class Writer {
 public:
  Writer(const Request &request, BatchBuilder *builder)
      : request_(request), columns_(request.Columns()), builder_(builder) {}

  Result<bool> Write(const FoundTrial &folder, const ProfileFile &file, const SystemEvent &event) {
    const double time = event.time * kMicroseconds;
    if (!IsBetween(time, time) || !IsOnNode(event.node.view)) return false;
    const std::string_view name = event.has_name ? event.name.view : event.dimension.view;
    SMD_ASSIGN_OR_RETURN(const bool is_wanted, IsWanted(name));
    if (!is_wanted) return false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumn(columns_[i], folder, file, event, &builder_->At(i));
    }
    builder_->NoteRows(1);
    return true;
  }

  Result<bool> Write(const FoundTrial &folder, const ProfileFile &file,
                     const TimelineEvent &event) {
    if (!IsBetween(event.start, event.start + event.duration)) return false;
    if (!IsInSteps(event.step)) return false;
    SMD_ASSIGN_OR_RETURN(const bool is_wanted, IsWanted(event.name));
    if (!is_wanted) return false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumn(columns_[i], folder, file, event, &builder_->At(i));
    }
    builder_->NoteRows(1);
    return true;
  }

 private:
  bool IsBetween(double begin, double end) const {
    if (request_.time_first && end < static_cast<double>(*request_.time_first)) return false;
    return !request_.time_end || begin < static_cast<double>(*request_.time_end);
  }
  bool IsOnNode(std::string_view node) const { return request_.WantsWorker(node); }
  bool IsInSteps(std::optional<int64_t> step) const {
    const analyze::StepRange &steps = request_.steps;
    if (steps.first == 0 && !steps.end) return true;
    return step && *step >= steps.first && (!steps.end || *step < *steps.end);
  }

  // Names repeat: each is matched once.
  Result<bool> IsWanted(std::string_view name) {
    constexpr size_t kMostNames = 10'000;
    if (request_.tensors.empty() && request_.regexes.empty()) return true;
    const auto known = wanted_.find(name);
    if (known != wanted_.end()) return known->second;
    SMD_ASSIGN_OR_RETURN(const bool is_wanted, request_.WantsTensor(name));
    if (wanted_.size() < kMostNames) wanted_.emplace(name, is_wanted);
    return is_wanted;
  }

  static void WriteColumn(size_t column, const FoundTrial &folder, const ProfileFile &file,
                          const SystemEvent &event, Column *out) {
    switch (column) {
      case kTrial: return AddText(folder.name, out);
      case kNode: return AddText(event.node.view, out);
      case kSystemType: return AddText(event.type.view, out);
      case kSystemName: return event.has_name ? AddText(event.name.view, out) : out->AddNulls();
      case kDimension: return AddText(event.dimension.view, out);
      case kValue: return out->AddNumber(event.value);
      case kSystemTime: return out->AddOptional(Microseconds(event.time));
      case kTimestamp: return out->AddNumber(event.time);
      default: return AddText(file.name, out);
    }
  }

  static void WriteColumn(size_t column, const FoundTrial &folder, const ProfileFile &file,
                          const TimelineEvent &event, Column *out) {
    switch (column) {
      case kTrial: return AddText(folder.name, out);
      case kNode: return AddText(file.node, out);
      case kFileType: return AddText(file.type, out);
      case kPhase: return AddText(event.phase, out);
      case kName: return AddText(event.name, out);
      case kStep: return out->AddOptional(event.step);
      case kStart: return out->AddOptional(Microseconds(event.start / kMicroseconds));
      case kDuration: return out->AddNumber(event.duration);
      case kPid: return out->AddOptional(event.pid);
      case kTid: return out->AddOptional(event.tid);
      case kPhasePid: return out->AddOptional(event.phase_pid);
      case kArgs: return AddJson(event.args, out);
      case kStartUs: return out->AddNumber(event.start);
      default: return AddText(file.name, out);
    }
  }

  const Request &request_;
  const std::vector<size_t> columns_;
  BatchBuilder *const builder_;
  std::map<std::string, bool, std::less<>> wanted_;
};

// The files of one profiler folder that may hold requested rows.
class Folder {
 public:
  static Result<Folder> Open(const Request &request, const FoundTrial &found) {
    SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store,
                         storage::OpenStore(found.path, request.store_options, request.logger));
    const bool is_system = request.table == Table::kSystemMetrics;
    auto listed = is_system ? profile::ListSystemFiles(*store) : profile::ListTimelineFiles(*store);
    if (!listed.IsOk()) return listed.GetStatus();
    std::vector<ProfileFile> files = *std::move(listed);
    std::erase_if(files, [&](const ProfileFile &file) { return !IsWanted(request, file); });
    return Folder(found, profile::FileTexts(std::move(store), std::move(files)));
  }

  const FoundTrial &Found() const { return found_; }
  profile::FileTexts &Texts() { return texts_; }

 private:
  Folder(FoundTrial found, profile::FileTexts texts)
      : found_(std::move(found)), texts_(std::move(texts)) {}

  static bool IsWanted(const Request &request, const ProfileFile &file) {
    const bool is_system = request.table == Table::kSystemMetrics;
    if (request.time_first && Later(file.stamp, kMargin) < *request.time_first) return false;
    // An event that began in time may end, and be written, much later.
    if (is_system && request.time_end && file.stamp > Later(*request.time_end, kMargin)) {
      return false;
    }
    if (!is_system && !request.WantsWorker(file.node)) return false;
    if (request.files.empty() || request.files.contains(file.name)) return true;
    return std::any_of(request.files.begin(), request.files.end(),
                       [&](const std::string &ending) { return file.name.ends_with(ending); });
  }

  FoundTrial found_;
  profile::FileTexts texts_;
};

class ProfileStream final : public BatchStream {
 public:
  ProfileStream(std::shared_ptr<const Request> request, std::vector<FoundTrial> folders)
      : request_(std::move(request)),
        folders_(std::move(folders)),
        builder_(*request_),
        writer_(*request_, &builder_) {}

  const std::vector<ColumnSpec> &Schema() const override { return builder_.Schema(); }

  Result<std::optional<Batch>> Next() override {
    while (!builder_.IsFull()) {
      if (system_) {
        SMD_RETURN_IF_ERROR(Read<SystemEvent>(&system_, &system_event_));
      } else if (timeline_) {
        SMD_RETURN_IF_ERROR(Read<TimelineEvent>(&timeline_, &timeline_event_));
      } else {
        SMD_ASSIGN_OR_RETURN(const bool has_more, Open());
        if (!has_more) break;
      }
    }
    if (builder_.Rows() == 0) return std::optional<Batch>();
    return std::optional<Batch>(builder_.Take());
  }

 private:
  // Opens the next file, or the next folder.  Returns false after the last.
  Result<bool> Open() {
    if (!folder_ || folder_->Texts().IsAtEnd()) {
      if (next_ == folders_.size()) return false;
      auto opened = Folder::Open(*request_, folders_[next_++]);
      if (opened.IsOk()) {
        folder_.emplace(*std::move(opened));
      } else {
        folder_.reset();
        SMD_RETURN_IF_ERROR(Skip(opened.GetStatus()));
      }
      return true;
    }
    file_ = folder_->Texts().Next();
    auto text = folder_->Texts().OpenNext();
    if (!text.IsOk()) {
      SMD_RETURN_IF_ERROR(Skip(text.GetStatus()));
    } else if (request_->table == Table::kSystemMetrics) {
      system_.emplace(*std::move(text));
    } else {
      timeline_.emplace(*std::move(text), &folder_->Texts().StateOf(file_));
    }
    return true;
  }

  template <class Event, class Reader>
  Status Read(std::optional<Reader> *reader, Event *event) {
    for (size_t i = 0; i < kRowsAtOnce; ++i) {
      const auto is_there = (*reader)->Next(event);
      if (!is_there.IsOk() || !*is_there) {
        const profile::Damage damage = (*reader)->Damages();
        reader->reset();
        SMD_RETURN_IF_ERROR(Report(damage));
        return is_there.IsOk() ? Status::Ok() : Skip(is_there.GetStatus());
      }
      if (request_->fails_on_damage) SMD_RETURN_IF_ERROR(Report((*reader)->Damages()));
      const auto written = writer_.Write(folder_->Found(), file_, *event);
      if (!written.IsOk()) return written.GetStatus();
    }
    return Status::Ok();
  }

  Status Skip(const Status &problem) const {
    if (request_->fails_on_damage) return problem;
    request_->logger.Warning(StrCat(problem.Message(), "; skipped"));
    return Status::Ok();
  }

  Status Report(const profile::Damage &damage) {
    if (damage.count == 0) return Status::Ok();
    Status problem = damage.Describe(folder_->Texts().Describe(file_));
    if (request_->fails_on_damage) return problem;
    const std::string others =
        damage.count == 1 ? "" : StrCat(", and so were ", damage.count - 1, " others in the file");
    request_->logger.Warning(StrCat(problem.Message(), "; skipped", others));
    return Status::Ok();
  }

  const std::shared_ptr<const Request> request_;
  const std::vector<FoundTrial> folders_;
  size_t next_ = 0;
  BatchBuilder builder_;
  Writer writer_;
  std::optional<Folder> folder_;
  ProfileFile file_;  // the open one
  std::optional<SystemFileReader> system_;
  std::optional<TimelineFileReader> timeline_;
  SystemEvent system_event_;
  TimelineEvent timeline_event_;
};

}  // namespace

std::unique_ptr<BatchStream> StreamProfiles(std::shared_ptr<const Request> request,
                                            std::vector<FoundTrial> folders) {
  return std::make_unique<ProfileStream>(std::move(request), std::move(folders));
}

}  // namespace smdebug::tables
