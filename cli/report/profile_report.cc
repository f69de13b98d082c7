#include "profile_report.h"

#include <algorithm>
#include <filesystem>

#include "skipped_parts.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli::report {
namespace {

bool IsProfile(const std::filesystem::path &folder) {
  // A link could lead to another one's profile.
  const auto is_folder = [](const std::filesystem::path &path) {
    std::error_code ignored;
    return std::filesystem::symlink_status(path, ignored).type() ==
           std::filesystem::file_type::directory;
  };
  return is_folder(folder) && (is_folder(folder / "system") || is_folder(folder / "framework"));
}

ProfileReport Read(const std::string &path, const ReportRequest &request, Problems *problems) {
  std::vector<std::string> skipped;
  ProfileReport report = EvaluateProfile(path, request.profile, request.options, &skipped);
  for (const std::string &sentence : skipped) problems->Add(sentence);
  return report;
}

}  // namespace

size_t ProfileReport::CountRules(RuleStatus status) const {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(),
                    [status](const RuleResult &result) { return result.status == status; }));
}

std::string FindProfile(const std::string &trial_path) {
  if (!IsLocal(trial_path)) return "";
  std::error_code error;
  const std::filesystem::path trial = std::filesystem::canonical(trial_path, error);
  if (error) return "";
  for (const std::filesystem::path &folder : {trial, trial.parent_path()}) {
    for (const char *name : {"profiler-output", "profiler"}) {
      if (IsProfile(folder / name)) return (folder / name).string();
    }
  }
  return "";
}

ProfileReport EvaluateProfile(const std::string &path, const std::string &profile,
                              const std::map<std::string, std::string> &options,
                              std::vector<std::string> *skipped) {
  SkippedParts parts;  // outlives `rules`, which logs into it
  ProfileRules rules(path, profile == "aws" ? "aws" : "calibrated");
  for (const auto &[name, value] : options) {
    if (name.starts_with("s3_")) rules.Set(name, value);
  }
  parts.Watch(&rules);
  rules.Evaluate();
  ProfileReport report{path, rules.Phases(), rules.Findings(), rules.Results(), rules.Charts()};
  std::stable_sort(
      report.findings.begin(), report.findings.end(),
      [](const Finding &left, const Finding &right) { return left.rule < right.rule; });
  *skipped = parts.Take();
  return report;
}

std::optional<ProfileReport> ReadProfile(const ReportRequest &request, Problems *problems) {
  if (!request.profile_path.empty()) return Read(request.profile_path, request, problems);
  const std::string path = FindProfile(request.trial.Path());
  if (path.empty()) return std::nullopt;
  try {
    ProfileReport report = Read(path, request, problems);
    // The page is for others too: it does not tell where the folder is.
    report.name = std::filesystem::path(path).filename().string();
    return report;
  } catch (const Error &error) {
    problems->Add(error.what());
    return std::nullopt;
  }
}

}  // namespace smdebug::cli::report
