#include "profile/read_timeline.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace smdebug::profile {
namespace {

constexpr std::string_view kUnknown = "Unknown";

bool OptionalNumber(JsonCursor *cursor, std::optional<double> *out) {
  return cursor->Number(&out->emplace());
}

}  // namespace

Result<bool> TimelineFileReader::Next(TimelineEvent *out) {
  while (true) {
    SMD_ASSIGN_OR_RETURN(const Found found, ReadElement(out));
    if (found == Found::kEvent) return true;
    if (found == Found::kEnd) return false;
  }
}

void TimelineFileReader::Use(size_t count) {
  const std::string_view used = text_.Held().substr(0, count);
  for (size_t at = used.find('\n'); at != std::string_view::npos; at = used.find('\n', at + 1)) {
    ++line_;
  }
  text_.Use(count);
}

// Skips what lies between elements.  Returns false at the end of the file.
Result<bool> TimelineFileReader::FindNext() {
  while (true) {
    const std::string_view held = text_.Held();
    const size_t next = held.find_first_not_of(" \t\r\n,");
    if (next != std::string_view::npos) {
      Use(next);
      return true;
    }
    Use(held.size());
    SMD_ASSIGN_OR_RETURN(const bool has_more, text_.More());
    if (!has_more) return false;
  }
}

Result<TimelineFileReader::Found> TimelineFileReader::ReadElement(TimelineEvent *out) {
  SMD_ASSIGN_OR_RETURN(const bool is_there, FindNext());
  if (!is_there) {
    damage_.Note(line_, has_begun_ ? "ends the file before the array ends" : "is empty");
    return Found::kEnd;
  }
  if (!has_begun_) {
    if (text_.Held().front() != '[') {
      damage_.Note(line_, "does not begin a timeline, which is a JSON array");
      return Found::kEnd;
    }
    has_begun_ = true;
    Use(1);
    return Found::kNothing;
  }
  if (text_.Held().front() == ']') return Found::kEnd;
  while (true) {
    const std::string_view held = text_.Held();
    JsonCursor cursor(held);
    const bool is_usual = ParseUsual(&cursor);
    if (!is_usual) cursor = JsonCursor(held);
    if (is_usual || Parse(&cursor)) {
      const Found found = Understand(out);
      Use(cursor.Offset());
      return found;
    }
    if (!cursor.RanOut()) return SkipBroken(false);
    SMD_ASSIGN_OR_RETURN(const bool has_more, text_.More());
    if (!has_more) return SkipBroken(true);
  }
}

// A broken event ends with its line.
Result<TimelineFileReader::Found> TimelineFileReader::SkipBroken(bool is_cut) {
  damage_.Note(line_, is_cut ? "is cut off" : "is not an event");
  while (true) {
    const std::string_view held = text_.Held();
    const size_t end = held.find('\n');
    if (end != std::string_view::npos) {
      Use(end + 1);
      return Found::kNothing;
    }
    Use(held.size());
    SMD_ASSIGN_OR_RETURN(const bool has_more, text_.More());
    if (!has_more) return Found::kEnd;
  }
}

// Parses an event whose members are in the order in which this library and the original write them.
bool TimelineFileReader::ParseUsual(JsonCursor *cursor) {
  raw_.tid = {};
  raw_.duration.reset();
  const bool begins = cursor->Take('{') && cursor->Key(R"("name")") && cursor->Text(&raw_.name) &&
                      cursor->Take(',') && cursor->Key(R"("pid")") && cursor->Value(&raw_.pid) &&
                      cursor->Take(',');
  if (!begins) return false;
  if (cursor->Key(R"("tid")") && !(cursor->Value(&raw_.tid) && cursor->Take(','))) return false;
  const bool continues = cursor->Key(R"("ph")") && cursor->Text(&raw_.kind_text) &&
                         cursor->Take(',') && cursor->Key(R"("ts")") &&
                         OptionalNumber(cursor, &raw_.time) && cursor->Take(',');
  if (!continues) return false;
  raw_.kind = raw_.kind_text.view;
  const bool has_duration = cursor->Key(R"("dur")");
  if (has_duration && !(OptionalNumber(cursor, &raw_.duration) && cursor->Take(','))) return false;
  return cursor->Key(R"("args")") && ParseArgs(cursor) && cursor->Take('}');
}

bool TimelineFileReader::ParseArgs(JsonCursor *cursor) {
  raw_.step = raw_.process = raw_.thread = {};
  raw_.has_members = true;
  std::string_view value;
  cursor->SkipSpace();
  const std::string_view rest = cursor->Rest();
  const bool is_object = cursor->Object([&](std::string_view key) {
    if (!cursor->Value(&value)) return false;
    if (Equals(key, "step_num")) {
      raw_.step = value;
    } else if (Equals(key, "pid")) {
      raw_.process = value;
    } else if (Equals(key, "thread_id")) {
      raw_.thread = value;
    }
    return true;
  });
  raw_.args = rest.substr(0, rest.size() - cursor->Rest().size());
  return is_object;
}

bool TimelineFileReader::Parse(JsonCursor *cursor) {
  raw_.name.view = {};
  raw_.kind = raw_.pid = raw_.tid = raw_.args = {};
  raw_.has_members = false;
  raw_.time.reset();
  raw_.duration.reset();
  return cursor->Object([&](std::string_view key) {
    if (key == "name") return cursor->Text(&raw_.name);
    if (key == "ph") {
      const bool is_text = cursor->Text(&raw_.kind_text);
      raw_.kind = raw_.kind_text.view;
      return is_text;
    }
    if (key == "ts") return OptionalNumber(cursor, &raw_.time);
    if (key == "dur") return OptionalNumber(cursor, &raw_.duration);
    if (key == "pid") return cursor->Value(&raw_.pid);
    if (key == "tid") return cursor->Value(&raw_.tid);
    if (key == "args") return cursor->Value(&raw_.args);
    std::string_view skipped;
    return cursor->Value(&skipped);
  });
}

TimelineFileReader::Found TimelineFileReader::Bad(std::string_view what) {
  damage_.Note(line_, what);
  return Found::kNothing;
}

TimelineFileReader::Found TimelineFileReader::Understand(TimelineEvent *out) {
  const char kind = raw_.kind.size() == 1 ? raw_.kind.front() : '\0';
  if (kind == 'M') {
    Describe();
    return Found::kNothing;
  }
  const bool is_one = kind == 'X' || kind == 'B' || kind == 'E';
  if (!is_one) return Found::kNothing;
  if (raw_.pid.empty() || !raw_.time || !std::isfinite(*raw_.time)) {
    return Bad("is an event without pid or ts");
  }
  if (kind == 'B') return Begin();
  if (kind == 'E') return End(out);
  if (!raw_.duration || !std::isfinite(*raw_.duration)) return Bad("is an event without dur");
  out->name = raw_.name.view;
  out->start = *raw_.time + state_.start_;
  out->duration = *raw_.duration;
  return Finish(out);
}

// What a line of kind "M" says: the name of a phase, or when the clock of the file began.
void TimelineFileReader::Describe() {
  if (raw_.name.view != "process_name" || raw_.args.empty()) return;
  JsonText name;
  name.view = kUnknown;
  JsonCursor cursor(raw_.args);
  const bool is_known = cursor.Object([&](std::string_view key) {
    if (key == "name") return cursor.Text(&name);
    double start = 0;
    std::string_view skipped;
    if (key != "start_time_since_epoch_in_micros") return cursor.Value(&skipped);
    if (!cursor.Number(&start) || !std::isfinite(start)) return false;
    state_.start_ = start;
    return true;
  });
  if (!is_known) return static_cast<void>(Bad("does not name a phase"));
  const auto known = state_.phases_.find(raw_.pid);
  if (known != state_.phases_.end()) {
    known->second = name.view;
  } else if (state_.phases_.size() < TimelineState::kMost) {
    state_.phases_.emplace(raw_.pid, name.view);
  } else {
    Bad("names one phase too many");
  }
}

// Events of one thread nest.
TimelineFileReader::Found TimelineFileReader::Begin() {
  if (state_.open_count_ >= TimelineState::kMost) return Bad("opens one event too many");
  state_.open_[StrCat(raw_.pid, " ", raw_.tid)].push_back(
      {std::string(raw_.name.view), *raw_.time + state_.start_});
  ++state_.open_count_;
  return Found::kNothing;
}

TimelineFileReader::Found TimelineFileReader::End(TimelineEvent *out) {
  const auto open = state_.open_.find(StrCat(raw_.pid, " ", raw_.tid));
  // Its beginning may be in a file that is not read.
  if (open == state_.open_.end()) return Found::kNothing;
  ended_ = std::move(open->second.back());
  open->second.pop_back();
  if (open->second.empty()) state_.open_.erase(open);
  --state_.open_count_;
  out->name = ended_.name;
  out->start = ended_.start;
  out->duration = *raw_.time + state_.start_ - ended_.start;
  if (out->duration < 0) return Bad("ends an event before it begins");
  return Finish(out);
}

TimelineFileReader::Found TimelineFileReader::Finish(TimelineEvent *out) {
  const auto phase = state_.phases_.find(raw_.pid);
  out->phase = phase == state_.phases_.end() ? kUnknown : std::string_view(phase->second);
  out->args = Equals(raw_.args, "null") ? std::string_view() : raw_.args;
  out->phase_pid = WholeNumber(raw_.pid);
  out->pid = out->phase_pid;
  out->tid = WholeNumber(raw_.tid);
  out->step.reset();
  if (!out->args.empty()) ReadArgs(out);
  return Found::kEvent;
}

void TimelineFileReader::ReadArgs(TimelineEvent *out) {
  JsonCursor cursor(out->args);
  // Its text is returned as it is, and must be JSON.
  if (!raw_.has_members && !ParseArgs(&cursor)) out->args = {};
  if (!raw_.step.empty()) out->step = WholeNumber(raw_.step);
  if (!raw_.process.empty()) out->pid = WholeNumber(raw_.process);
  if (!raw_.thread.empty()) out->tid = WholeNumber(raw_.thread);
}

}  // namespace smdebug::profile
