#include "profile/trace_import.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strings.h"
#include "profile/event.h"
#include "profile/file_names.h"
#include "profile/json_cursor.h"
#include "profile/json_text.h"
#include "profile/timeline_file.h"

namespace smdebug::profile {
namespace {

constexpr std::string_view kStepName = "ProfilerStep#";
constexpr size_t kMostArgs = size_t{64} << 10;
constexpr size_t kMostText = 4096;
constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr uint64_t kRotateBytes = 10'485'760;
constexpr double kNanosecondsPerMicrosecond = 1000;

// One element of "traceEvents".
struct TraceItem {
  JsonText name;
  JsonText category;
  JsonText kind_text;
  std::string_view pid;
  std::string_view tid;
  std::string_view args;
  double begin = std::numeric_limits<double>::quiet_NaN();
  double duration = std::numeric_limits<double>::quiet_NaN();

  bool IsEvent() const {
    return kind_text.view == "X" && std::isfinite(begin) && std::isfinite(duration) &&
           duration >= 0 && !name.view.empty();
  }
};

bool ParseItem(JsonCursor *cursor, TraceItem *out) {
  return cursor->Object([&](std::string_view key) {
    if (key == "name") return cursor->Text(&out->name);
    if (key == "cat") return cursor->Text(&out->category);
    if (key == "ph") return cursor->Text(&out->kind_text);
    if (key == "ts") return cursor->Number(&out->begin);
    if (key == "dur") return cursor->Number(&out->duration);
    if (key == "pid") return cursor->Value(&out->pid);
    if (key == "tid") return cursor->Value(&out->tid);
    if (key == "args") return cursor->Value(&out->args);
    std::string_view skipped;
    return cursor->Value(&skipped);
  });
}

Status Foreign(std::string_view what, size_t offset) {
  return Status(Code::kCorruptData,
                StrCat("is no trace in Chrome's format: ", what, " at byte ", offset));
}

// Where the events of a document are, and when its clock began.
struct Document {
  std::string_view events;  // the text of the array
  double base_us = 0;

  static Result<Document> Find(std::string_view text) {
    Document found;
    JsonCursor cursor(text);
    if (cursor.Peek() == '[') {
      found.events = text.substr(cursor.Offset());
      return found;
    }
    const bool is_object = cursor.Object([&](std::string_view key) {
      if (key == "traceEvents") return cursor.Value(&found.events);
      if (key == "baseTimeNanoseconds") {
        double base = 0;
        const bool is_number = cursor.Number(&base);
        found.base_us = base / kNanosecondsPerMicrosecond;
        return is_number;
      }
      std::string_view skipped;
      return cursor.Value(&skipped);
    });
    if (!is_object) {
      return Foreign(cursor.RanOut() ? "it is cut off" : "it is no JSON object", cursor.Offset());
    }
    if (!found.events.starts_with('[')) return Foreign("it has no list \"traceEvents\"", 0);
    if (!std::isfinite(found.base_us)) found.base_us = 0;
    return found;
  }

  // Calls `use(item)` with each element.
  template <class Use>
  Status ForEach(Use use) const {
    JsonCursor cursor(events);
    if (!cursor.Take('[')) return Foreign("a list is missing", 0);
    if (cursor.Peek() == ']') return Status::Ok();
    do {
      TraceItem item;
      if (!ParseItem(&cursor, &item)) {
        return Foreign(cursor.RanOut() ? "it is cut off" : "an event is no JSON object",
                       cursor.Offset());
      }
      use(item);
      if (cursor.Peek() == ']') return Status::Ok();
    } while (cursor.Take(','));
    return Foreign(cursor.RanOut() ? "it is cut off" : "a comma is missing", cursor.Offset());
  }
};

// What the whole trace says about its events.
class Facts {
 public:
  void Learn(const TraceItem &item) {
    if (item.kind_text.view == "M" && item.name.view == "process_name") {
      JsonCursor cursor(item.args);
      JsonText name;
      const bool is_known = cursor.Object([&](std::string_view key) {
        std::string_view skipped;
        return key == "name" ? cursor.Text(&name) : cursor.Value(&skipped);
      });
      if (is_known && !name.view.empty() && processes_.size() < kMostProcesses) {
        processes_[std::string(item.pid)] = name.view;
      }
    } else if (item.IsEvent()) {
      if (item.name.view.starts_with(kStepName)) LearnStep(item);
    }
  }
  void Finish() { std::sort(steps_.begin(), steps_.end()); }

  // Returns the step in which an event begins, or -1.
  int64_t StepAt(double time) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](double wanted, const Step &step) { return wanted < step.begin; });
    if (after == steps_.begin()) return -1;
    const Step &step = *(after - 1);
    return time < step.end ? step.number : -1;
  }

  std::string PhaseOf(const TraceItem &item) const {
    const std::string_view category = item.category.view;
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
      return StrCat("gpu_functions-dev:", DeviceOf(item));
    }
    if (item.name.view.starts_with(kStepName)) return "Step:ModeKeys.TRAIN";
    if (category == "cpu_op" || category == "user_annotation" || category == "python_function" ||
        category == "cuda_runtime" || category == "cuda_driver" ||
        category == "cpu_instant_event") {
      return "cpu_functions";
    }
    const auto process = processes_.find(item.pid);
    if (process != processes_.end()) return process->second.substr(0, kMostText);
    return category.empty() ? "Trace" : std::string(category.substr(0, kMostText));
  }

 private:
  static constexpr size_t kMostProcesses = 10'000;

  struct Step {
    double begin;
    double end;
    int64_t number;

    bool operator<(const Step &other) const { return begin < other.begin; }
  };

  void LearnStep(const TraceItem &item) {
    const auto number = ParseInt(item.name.view.substr(kStepName.size()));
    if (number && *number >= 0) {
      steps_.push_back({item.begin, item.begin + item.duration, *number});
    }
  }

  static int64_t DeviceOf(const TraceItem &item) {
    int64_t device = 0;
    JsonCursor cursor(item.args);
    std::string_view value;
    const bool is_object = cursor.Object([&](std::string_view key) {
      if (!cursor.Value(&value)) return false;
      if (key == "device") device = WholeNumber(value).value_or(0);
      return true;
    });
    return is_object ? device : 0;
  }

  std::map<std::string, std::string, std::less<>> processes_;
  std::vector<Step> steps_;
};

// Adds the events to the files of a timeline.
class Adder {
 public:
  Adder(storage::Store &store, const Facts &facts, const Document &document, std::string_view node)
      : facts_(facts),
        base_us_(static_cast<int64_t>(document.base_us)),
        file_(std::shared_ptr<storage::Store>(std::shared_ptr<void>(), &store),
              {.node = NodeInNames(node),
               .base_us = base_us_,
               .process = 0,
               .rotate_bytes = kRotateBytes,
               .rotate_time = std::chrono::hours(24),
               .clock = &Clock::System()}) {}

  void Add(const TraceItem &item) {
    if (!item.IsEvent() || !status_.IsOk()) return;
    const double begin = std::round(item.begin) + static_cast<double>(base_us_);
    const double duration = std::round(item.duration);
    if (begin < 0 || begin + duration > static_cast<double>(kLastTime)) return;
    Event event;
    event.name = item.name.view.substr(0, kMostText);
    const std::string phase = facts_.PhaseOf(item);
    event.phase = phase;
    event.step = facts_.StepAt(item.begin);
    event.begin_us = static_cast<int64_t>(begin);
    event.duration_us = static_cast<int64_t>(duration);
    event.thread = static_cast<int32_t>(WholeNumber(item.tid).value_or(0));
    if (item.args.size() <= kMostArgs && IsJsonObject(item.args)) event.args = item.args;
    batch_.Add(event);
    ++added_;
    if (batch_.Size() > kBatchBytes) Write();
  }

  Result<int64_t> Finish() {
    Write();
    SMD_RETURN_IF_ERROR(status_);
    SMD_RETURN_IF_ERROR(file_.End());
    return added_;
  }

 private:
  void Write() {
    KeepFirst(&status_, file_.Write(&batch_));
    batch_.Clear();
  }

  const Facts &facts_;
  const int64_t base_us_;
  TimelineFile file_;
  EventBuffer batch_;
  Status status_;
  int64_t added_ = 0;
};

struct Place {
  std::string folder;
  std::string name;
};

Place PlaceOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

Result<std::string> ReadTrace(const std::string &path) {
  const Place place = PlaceOf(path);
  const Logger logger;
  SMD_ASSIGN_OR_RETURN(const storage::StoreOptions options,
                       storage::StoreOptions().WithEnvironment());
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                       storage::OpenStore(place.folder, options, logger));
  return store->ReadText(place.name, kMostTrace);
}

}  // namespace

Result<int64_t> ImportTrace(std::string_view text, std::string_view node, storage::Store &store) {
  if (node.empty()) node = "trace";
  SMD_RETURN_IF_ERROR(CheckNode(node));
  SMD_ASSIGN_OR_RETURN(const Document document, Document::Find(text));
  Facts facts;
  SMD_RETURN_IF_ERROR(document.ForEach([&](const TraceItem &item) { facts.Learn(item); }));
  facts.Finish();
  Adder adder(store, facts, document, node);
  SMD_RETURN_IF_ERROR(document.ForEach([&](const TraceItem &item) { adder.Add(item); }));
  return adder.Finish();
}

Result<int64_t> ImportTraceFile(const std::string &path, const std::string &out_dir,
                                std::string_view node) {
  SMD_ASSIGN_OR_RETURN(const std::string text, ReadTrace(path));
  if (text.starts_with("\x1f\x8b")) {
    return Status(Code::kUnsupported, StrCat(path, " is compressed; decompress it with gunzip"));
  }
  const Logger logger;
  SMD_ASSIGN_OR_RETURN(const storage::StoreOptions options,
                       storage::StoreOptions().WithEnvironment());
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                       storage::OpenStore(out_dir, options, logger));
  auto added = ImportTrace(text, node, *store);
  if (!added.IsOk() && added.GetStatus().GetCode() == Code::kCorruptData) {
    return Status(Code::kCorruptData, StrCat(path, " ", added.GetStatus().Message()))
        .With("path", path);
  }
  return added;
}

}  // namespace smdebug::profile
