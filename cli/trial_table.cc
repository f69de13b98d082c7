#include "trial_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>

#include "natural_order.h"
#include "output.h"
#include "table.h"
#include "text.h"

namespace smdebug::cli {
namespace {

void AddRows(const ScannedRows &rows, std::vector<ListedTrial> *trials) {
  for (size_t row = 0; row < rows.Count(); ++row) {
    const auto text = [&](size_t column) { return std::string(rows.Text(column, row)); };
    trials->push_back({text(0), text(1), text(2), rows.Whole(3, row).value_or(0),
                       rows.Whole(4, row), rows.Whole(5, row).value_or(0), rows.Whole(6, row),
                       text(7)});
  }
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
  if (state == "unreadable" || state == "failed") return Style::kBad;
  return state == "interrupted" ? Style::kWarning : Style::kPlain;
}

std::map<std::string, size_t> CountStates(const std::vector<ListedTrial> &trials) {
  std::map<std::string, size_t> counts;
  for (const ListedTrial &trial : trials) ++counts[trial.state];
  return counts;
}

}  // namespace

std::vector<ListedTrial> FindTrials(const std::string &path,
                                    const std::vector<std::string> &regexes,
                                    const Settings &settings) {
  TableScan scan = {.table = "trials",
                    .path = path,
                    .columns = {"trial", "path", "state", "steps", "last_step", "workers",
                                "last_time", "problem"},
                    .settings = settings,
                    .complains = true};
  for (const std::string &regex : regexes) scan.conditions.emplace_back("trial", regex);
  std::vector<ListedTrial> trials;
  ReadTable(scan, [&](const ScannedRows &rows) { AddRows(rows, &trials); });
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
