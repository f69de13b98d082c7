#include "profile_rules/merged_timeline.h"

#include <algorithm>

#include "base/strings.h"
#include "profile/json_text.h"
#include "profile_rules/json_tree.h"

namespace smdebug::profile_rules {
namespace {

bool BeginsBefore(const Span &left, const Span &right) {
  return left.start != right.start ? left.start < right.start : left.duration > right.duration;
}

}  // namespace

Status MergedTimeline::WriteAll(ProfileReader *reader) {
  constexpr int64_t kWindow = 60'000'000;
  Events events;
  int64_t end = reader->FirstTime() + kWindow;
  while (!reader->IsAtEnd()) {
    const bool is_last = end > reader->LastTime();
    bool has_more = true;
    while (has_more) {
      has_more = reader->Next(is_last ? INT64_MAX : end, &events);
      if (!has_begun_ && !events.IsEmpty()) {
        has_begun_ = true;
        begin_ =
            events.samples.empty() ? events.spans.front().start : events.samples.front().time * 1e6;
        for (const Span &span : events.spans) begin_ = std::min(begin_, span.start);
      }
      std::stable_sort(events.spans.begin(), events.spans.end(), BeginsBefore);
      for (const Sample &sample : events.samples) Add(sample);
      for (const Span &span : events.spans) Add(span);
      SMD_RETURN_IF_ERROR(write_(text_));
      text_.clear();
    }
    if (is_last) break;
    end += kWindow;
  }
  return write_(separator_ == "[\n" ? "[]\n" : "\n]\n");
}

void MergedTimeline::Line(std::string_view begin) {
  text_ += separator_;
  separator_ = ",\n";
  text_ += begin;
}

void MergedTimeline::Describe(std::string_view what, int64_t process, int64_t thread,
                              std::string_view name) {
  Line(StrCat("{\"name\": \"", what, "\", \"ph\": \"M\", \"pid\": ", process, ", \"tid\": ", thread,
              ", \"args\": {\"name\": "));
  profile::AppendQuoted(&text_, name);
  text_ += "}}";
}

int64_t MergedTimeline::ProcessOf(NameId name) {
  const auto [place, is_new] =
      processes_.emplace(name, static_cast<int64_t>(processes_.size()) + 1);
  if (is_new) Describe("process_name", place->second, 0, names_.NameOf(name));
  return place->second;
}

int64_t MergedTimeline::ThreadOf(int64_t process, const Span &span) {
  const size_t lane = lanes_[{process, span.phase}].LaneOf(span.start, span.End());
  const auto [place, is_new] = threads_.emplace(std::tuple(process, span.phase, lane),
                                                static_cast<int64_t>(threads_.size()) + 1);
  if (is_new) {
    const std::string number = lane == 0 ? "" : StrCat(" (", lane + 1, ")");
    Describe("thread_name", process, place->second, StrCat(names_.NameOf(span.phase), number));
  }
  return place->second;
}

void MergedTimeline::Add(const Span &span) {
  const int64_t process = ProcessOf(span.worker);
  const int64_t thread = ThreadOf(process, span);
  Line("{\"name\": ");
  profile::AppendQuoted(&text_, names_.NameOf(span.name));
  text_ += ", \"cat\": ";
  profile::AppendQuoted(&text_, CategoryName(span.category));
  text_ += StrCat(", \"ph\": \"X\", \"pid\": ", process, ", \"tid\": ", thread,
                  ", \"ts\": ", PythonNumber(span.start - begin_),
                  ", \"dur\": ", PythonNumber(span.duration));
  if (span.step >= 0) text_ += StrCat(", \"args\": {\"step_num\": ", span.step, "}");
  text_ += "}";
}

void MergedTimeline::Add(const Sample &sample) {
  if (sample.metric == Metric::kOther) return;
  const int64_t process = ProcessOf(sample.node);
  Line("{\"name\": ");
  profile::AppendQuoted(&text_, StrCat(MetricName(sample.metric), " ", names_.NameOf(sample.name)));
  text_ += StrCat(", \"ph\": \"C\", \"pid\": ", process,
                  ", \"ts\": ", PythonNumber(sample.time * 1e6 - begin_),
                  ", \"args\": {\"value\": ", PythonNumber(sample.value), "}}");
}

}  // namespace smdebug::profile_rules
