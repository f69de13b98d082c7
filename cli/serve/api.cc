#include "serve/api.h"

#include <map>

namespace smdebug::cli::serve {

ApiFunction FindApi(const std::string &path) {
  static const std::map<std::string, ApiFunction> kFunctions = {
      {"/api/runs", AnswerRuns},
      {"/api/run", AnswerRun},
      {"/api/series", AnswerSeries},
      {"/api/times", AnswerTimes},
      {"/api/configuration", AnswerConfiguration},
      {"/api/profile", AnswerProfile},
      {"/api/booster", AnswerBooster},
      {"/api/predictions", AnswerPredictions},
      {"/api/findings", AnswerRuleFindings},
      {"/api/report", AnswerReport},
      {"/api/heat", AnswerHeat},
      {"/api/cell", AnswerCell},
      {"/api/histograms", AnswerHistograms},
      {"/findings.json", AnswerFindings},
      {"/metrics", AnswerMetrics},
  };
  if (path.starts_with(kRunsPath)) return AnswerPage;
  const auto found = kFunctions.find(path);
  return found == kFunctions.end() ? nullptr : found->second;
}

std::shared_ptr<OpenRun> RunOf(const ApiContext &context, const Request &request) {
  constexpr std::chrono::seconds kBetweenRemoteLooks{2};
  std::shared_ptr<OpenRun> run = context.runs.Open(request.Text("id"));
  run->Refresh(run->IsRemote() ? kBetweenRemoteLooks : std::chrono::milliseconds(0));
  return run;
}

}  // namespace smdebug::cli::serve
