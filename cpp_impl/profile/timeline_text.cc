#include "profile/timeline_text.h"

#include <algorithm>

#include "base/strings.h"
#include "profile/json_text.h"

namespace smdebug::profile {
namespace {

constexpr size_t kMostPhases = 10000;
// Begins without an end, in one phase and thread.
constexpr size_t kMostOpen = 1000;

}  // namespace

std::string TimelineText::Begin() {
  named_.clear();
  last_end_us_ = 0;
  return StrCat(
      "[\n", R"({"name": "process_name", "ph": "M", "pid": 0, "args": )",
      R"({"start_time_since_epoch_in_micros": )", base_us_, "}},\n",
      R"({"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}})");
}

int TimelineText::NumberOf(std::string_view phase) {
  const auto found = numbers_.find(std::string(phase));
  if (found != numbers_.end()) return found->second;
  if (phases_.size() >= kMostPhases) return -1;
  const int number = static_cast<int>(phases_.size());
  phases_.emplace_back(phase);
  numbers_.emplace(phase, number);
  return number;
}

void TimelineText::NamePhase(int number, std::string *out) {
  if (!named_.insert(number).second) return;
  out->append(StrCat(",\n", R"({"name": "process_name", "ph": "M", "pid": )", number,
                     R"(, "args": {"name": )"));
  AppendQuoted(out, phases_[static_cast<size_t>(number)]);
  out->append(StrCat("}},\n", R"({"name": "process_sort_index", "ph": "M", "pid": )", number,
                     R"(, "args": {"sort_index": )", number, "}}"));
}

void TimelineText::AppendArgs(const Event &event, std::string *out) const {
  out->append(R"("args": {)");
  if (event.step >= 0) {
    // The original's readers expect a text.
    out->append(R"("step_num": ")");
    AppendNumber(out, event.step);
    out->append("\", ");
  }
  out->append(R"("pid": )");
  AppendNumber(out, process_);
  // Of a repeated key, readers take the last.
  const size_t before = out->size();
  out->append(", ");
  AppendMembers(out, event.args);
  if (out->size() == before + 2) out->resize(before);
  out->append("}}");
}

void TimelineText::AppendLine(const Event &event, int number, std::string_view type,
                              std::string *out) {
  NamePhase(number, out);
  out->append(",\n{\"name\": ");
  AppendQuoted(out, event.name);
  out->append(", \"pid\": ");
  AppendNumber(out, number);
  out->append(", \"tid\": ");
  AppendNumber(out, event.thread);
  out->append(", \"ph\": \"").append(type).append("\", \"ts\": ");
  AppendNumber(out, event.begin_us - base_us_);
  if (type == "X") {
    out->append(", \"dur\": ");
    AppendNumber(out, event.duration_us);
  }
  out->append(type == "i" ? ", \"s\": \"t\", " : ", ");
  AppendArgs(event, out);
  last_end_us_ = std::max(last_end_us_, event.begin_us + event.duration_us);
}

bool TimelineText::Add(const Event &event, std::string *out) {
  const int number = NumberOf(event.phase);
  if (number < 0) return false;
  if (event.kind == EventKind::kComplete || event.kind == EventKind::kInstant) {
    AppendLine(event, number, event.kind == EventKind::kInstant ? "i" : "X", out);
    return true;
  }
  const Lane lane(number, event.thread);
  std::vector<Begun> &open = open_[lane];
  if (event.kind == EventKind::kBegin) {
    if (open.size() >= kMostOpen) return false;
    open.push_back({std::string(event.name), std::string(event.args), event.step, event.begin_us});
    return true;
  }
  if (open.empty()) {
    open_.erase(lane);
    return false;
  }
  const Begun begun = std::move(open.back());
  open.pop_back();
  if (open.empty()) open_.erase(lane);
  Event whole = event;
  whole.name = begun.name;
  whole.args = begun.args;
  whole.step = begun.step;
  whole.begin_us = begun.begin_us;
  whole.duration_us = std::max<int64_t>(event.begin_us - begun.begin_us, 0);
  AppendLine(whole, number, "X", out);
  return true;
}

int64_t TimelineText::AddOpen(std::string *out) {
  int64_t added = 0;
  for (const auto &[lane, events] : open_) {
    for (const Begun &each : events) {
      Event event;
      event.name = each.name;
      event.args = each.args;
      event.step = each.step;
      event.begin_us = each.begin_us;
      event.thread = lane.second;
      AppendLine(event, lane.first, "B", out);
      ++added;
    }
  }
  open_.clear();
  return added;
}

}  // namespace smdebug::profile
