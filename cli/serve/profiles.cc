#include "serve/profiles.h"

#include <filesystem>
#include <vector>

#include "json_writer.h"
#include "report/profile_html.h"
#include "report/profile_report.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostKept = 16;
constexpr int kRest = 20;
constexpr std::chrono::seconds kLeastRest{1};

}  // namespace

std::string Profiles::JsonOf(const Run &run) {
  const std::string path = report::FindProfile(run.row.path);
  if (path.empty()) return "{}";
  const std::lock_guard lock(mutex_);
  const auto known = kept_.find(run.id);
  const Clock::time_point begin = Clock::now();
  if (known != kept_.end() && begin < known->second.until) return known->second.json;
  std::string json = Evaluate(path);
  if (kept_.size() >= kMostKept) kept_.clear();
  const Clock::time_point end = Clock::now();
  kept_[run.id] = {end + std::max<Clock::duration>(kLeastRest, (end - begin) * kRest), json};
  return json;
}

std::string Profiles::Evaluate(const std::string &path) const {
  std::vector<std::string> skipped;
  report::ProfileReport found = report::EvaluateProfile(path, profile_, {}, &skipped);
  found.name = std::filesystem::path(path).filename().string();
  JsonWriter json;
  json.BeginObject().Key("name").Text(found.name).Key("html").Text(report::ProfileHtml(found));
  json.Key("findings").Text(report::ProfileFindingsHtml(found));
  json.Key("skipped").Texts(skipped).Key("charts").Raw(found.charts);
  return json.EndObject().Take();
}

}  // namespace smdebug::cli::serve
