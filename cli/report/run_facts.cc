#include "run_facts.h"

#include <ctime>
#include <vector>

#include "table_scan.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

constexpr int64_t kSecond = 1'000'000;  // timestamps count microseconds

void ReadTimes(const Trial &trial, const std::map<std::string, std::string> &options,
               RunFacts *facts) {
  const TableScan scan = {.table = "trials",
                          .path = trial.Path(),
                          .columns = {"first_time", "last_time"},
                          .settings = {options.begin(), options.end()}};
  ReadTable(scan, [facts](const ScannedRows &rows) {
    if (rows.Count() == 0) return;
    facts->begin = rows.Whole(0, 0);
    facts->end = rows.Whole(1, 0);
  });
}

}  // namespace

std::string RunFacts::Get(const std::string &key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

std::string RunFacts::DurationText() const {
  if (!begin || !end || *end < *begin) return "";
  const int64_t seconds = (*end - *begin) / kSecond;
  if (seconds == 0) return "under 1 s";
  if (seconds < 60) return std::to_string(seconds) + " s";
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string RunFacts::BeginText() const {
  if (!begin) return "";
  const std::time_t seconds = *begin / kSecond;
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return "";
  std::string text(64, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc));
  return text;
}

std::string RunFacts::VersionsText() const {
  std::vector<std::string> versions;
  constexpr std::string_view kRun = "run.";
  for (const auto &[key, value] : metadata) {
    const bool is_version =
        key.starts_with(kRun) && key != "run.host" && key != "run.commit" && key != "run.failure";
    if (!is_version) continue;
    const std::string name = key.substr(kRun.size());
    versions.push_back(name == "library" ? value : name + " " + value);
  }
  return Join(versions, ", ");
}

RunFacts ReadRunFacts(const Trial &trial, const std::map<std::string, std::string> &options,
                      Problems *problems) {
  RunFacts facts;
  problems->Try([&] { facts.metadata = trial.Metadata(); });
  try {
    ReadTimes(trial, options, &facts);
  } catch (const Error &) {  // NOLINT(bugprone-empty-catch): other reads report what is damaged
  }
  return facts;
}

}  // namespace smdebug::cli::report
