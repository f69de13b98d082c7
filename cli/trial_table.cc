#include "trial_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>

#include "natural_order.h"
#include "output.h"
#include "smdebug.hpp"
#include "smdebug/scan.h"
#include "table.h"
#include "text.h"

namespace smdebug::cli {
namespace {

struct FreeScan {
  void operator()(smd_scan *scan) const { smd_scan_free(scan); }
};
using ScanHandle = std::unique_ptr<smd_scan, FreeScan>;

// Holds one of Arrow's structures, and releases it.
template <class T>
class Held {
 public:
  Held() = default;
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;
  ~Held() {
    if (held_.release != nullptr) held_.release(&held_);
  }
  T *Get() { return &held_; }

 private:
  T held_{};
};

void LogLine(void * /*user_data*/, smd_log_level /*level*/, const char *line) {
  Complain("warning: " + Printable(line));
}

// One column of a batch.
class ColumnReader {
 public:
  explicit ColumnReader(const ArrowArray *column) : column_(column) {}

  bool IsNull(int64_t row) const {
    const auto *const valid = static_cast<const unsigned char *>(column_->buffers[0]);
    if (column_->null_count == 0 || valid == nullptr) return false;
    const auto at = static_cast<size_t>(row + column_->offset);
    return (valid[at / 8] >> (at % 8) & 1U) == 0;
  }
  std::optional<int64_t> Whole(int64_t row) const {
    if (IsNull(row)) return std::nullopt;
    return static_cast<const int64_t *>(column_->buffers[1])[row + column_->offset];
  }
  std::string Text(int64_t row) const {
    if (IsNull(row)) return "";
    const int32_t *const ends = static_cast<const int32_t *>(column_->buffers[1]) + column_->offset;
    const char *const texts = static_cast<const char *>(column_->buffers[2]);
    return {texts + ends[row], texts + ends[row + 1]};
  }

 private:
  const ArrowArray *column_;
};

constexpr std::array kColumns = {"trial",     "path",    "state",     "steps",
                                 "last_step", "workers", "last_time", "problem"};

void ReadBatch(const ArrowArray &batch, std::vector<ListedTrial> *trials) {
  std::map<std::string_view, ColumnReader> columns;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    columns.emplace(kColumns.at(i), ColumnReader(batch.children[i]));
  }
  const auto text = [&](const char *name, int64_t row) { return columns.at(name).Text(row); };
  const auto whole = [&](const char *name, int64_t row) { return columns.at(name).Whole(row); };
  for (int64_t row = 0; row < batch.length; ++row) {
    ListedTrial trial;
    trial.name = text("trial", row);
    trial.path = text("path", row);
    trial.state = text("state", row);
    trial.steps = whole("steps", row).value_or(0);
    trial.last_step = whole("last_step", row);
    trial.workers = whole("workers", row).value_or(0);
    trial.last_time = whole("last_time", row);
    trial.problem = text("problem", row);
    trials->push_back(std::move(trial));
  }
}

// Returns the message of a stream that has failed.
std::string ReasonOf(ArrowArrayStream *stream) {
  const char *const reason = stream->get_last_error(stream);
  return reason == nullptr ? "the trials cannot be listed" : reason;
}

// Returns "5 min ago".
std::string AgeText(const std::optional<int64_t> &microseconds) {
  if (!microseconds) return "-";
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now).count() - *microseconds / 1000000;
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return std::to_string(std::max<int64_t>(seconds, 0)) + " s ago";
  if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + " min ago";
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + " h ago";
  return std::to_string(seconds / kDay) + " d ago";
}

// Returns "2026-11-23T20:43:58Z".
std::string TimeText(int64_t microseconds) {
  const std::time_t seconds = microseconds / 1000000;
  std::tm parts{};
  std::array<char, 64> out{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  return {out.data(), std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Style StyleOf(const std::string &state) {
  if (state == "running") return Style::kGood;
  if (state == "unreadable") return Style::kBad;
  return state == "interrupted" ? Style::kWarning : Style::kPlain;
}

std::map<std::string, size_t> CountStates(const std::vector<ListedTrial> &trials) {
  std::map<std::string, size_t> counts;
  for (const ListedTrial &trial : trials) ++counts[trial.state];
  return counts;
}

}  // namespace

std::vector<ListedTrial> FindTrials(
    const std::string &path, const std::vector<std::string> &regexes,
    const std::vector<std::pair<std::string, std::string>> &settings) {
  smd_scan *made = nullptr;
  detail::Check(smd_scan_new("trials", &made));
  const ScanHandle scan(made);
  const auto add = [&](const char *option, const std::string &value) {
    detail::Check(smd_scan_add(scan.get(), option, value.c_str()));
  };
  detail::Check(smd_scan_set_log(scan.get(), SMD_LOG_WARNING, LogLine, nullptr, nullptr));
  for (const auto &[name, value] : settings) {
    if (name.starts_with("s3_")) add(name.c_str(), value);  // the others are those of one trial
  }
  add("path", path);
  for (const char *const column : kColumns) add("column", column);
  for (const std::string &regex : regexes) add("trial", regex);
  Held<ArrowArrayStream> stream;
  detail::Check(smd_scan_open(scan.get(), stream.Get()));
  std::vector<ListedTrial> trials;
  while (true) {
    Held<ArrowArray> batch;
    if (stream.Get()->get_next(stream.Get(), batch.Get()) != 0) {
      throw Error(SMD_IO, ReasonOf(stream.Get()));
    }
    if (batch.Get()->release == nullptr) break;
    ReadBatch(*batch.Get(), &trials);
  }
  std::sort(trials.begin(), trials.end(),
            [](const ListedTrial &a, const ListedTrial &b) { return NaturalLess(a.name, b.name); });
  return trials;
}

void PrintTrials(const std::string &path, const std::vector<ListedTrial> &trials) {
  std::vector<std::string> states;
  for (const auto &[state, count] : CountStates(trials)) {
    states.push_back(std::to_string(count) + " " + state);
  }
  Print(Styled(Printable(path), Style::kHeading) + "\n");
  Print("  " + Count(trials.size(), "trial") + (states.empty() ? "" : ": " + Join(states, ", ")) +
        "\n\n");
  if (trials.empty()) return;
  using Kind = Table::Kind;
  Table table({{"TRIAL", Kind::kText},
               {"STATE", Kind::kWord},
               {"STEPS", Kind::kNumber},
               {"LAST STEP", Kind::kNumber},
               {"WORKERS", Kind::kNumber},
               {"WRITTEN", Kind::kNumber},
               {"", Kind::kText}});
  for (const ListedTrial &trial : trials) {
    table.Add({trial.name, trial.state, std::to_string(trial.steps),
               trial.last_step ? std::to_string(*trial.last_step) : "-",
               std::to_string(trial.workers), AgeText(trial.last_time), trial.problem},
              StyleOf(trial.state));
  }
  table.Print();
}

std::string ToJson(const std::string &path, const std::vector<ListedTrial> &trials) {
  JsonWriter json;
  json.BeginObject().Key("path").Text(path).Key("trials").BeginArray();
  for (const ListedTrial &trial : trials) {
    json.BeginObject().Key("name").Text(trial.name).Key("path").Text(trial.path);
    json.Key("state").Text(trial.state).Key("steps").Whole(trial.steps).Key("last_step");
    trial.last_step ? json.Whole(*trial.last_step) : json.Null();
    json.Key("workers").Whole(trial.workers).Key("last_time");
    trial.last_time ? json.Text(TimeText(*trial.last_time)) : json.Null();
    json.Key("problem");
    trial.problem.empty() ? json.Null() : json.Text(trial.problem);
    json.EndObject();
  }
  return json.EndArray().EndObject().Take();
}

}  // namespace smdebug::cli
