// Answers requests for data.
#pragma once

#include <functional>

#include "serve/profiles.h"
#include "serve/request.h"
#include "serve/runs.h"

namespace smdebug::cli::serve {

// What the answers are made of.
struct ApiContext {
  Runs &runs;
  Profiles &profiles;
  std::function<size_t()> clients;  // the number of clients that watch
};

// The page of runs is at "/runs/ID,ID".
constexpr std::string_view kRunsPath = "/runs/";

// Returns the function that makes the response for a path of the API; NULL if there is none.  It
// may read from disk or network, and fails by throwing BadRequest or smdebug::Error.
using ApiFunction = Response (*)(const ApiContext &, const Request &);
ApiFunction FindApi(const std::string &path);

// /runs/ID,ID: the page.  What /api/run answers is in it, so that the first charts need no other
// request.
Response AnswerPage(const ApiContext &context, const Request &request);
// /api/runs?regex=&sort=&order=&first=&count=: the list, and asks for summaries of its rows.
Response AnswerRuns(const ApiContext &context, const Request &request);
// /findings.json: what rules have found so far, by run.
Response AnswerFindings(const ApiContext &context, const Request &request);
// /metrics: for Prometheus.
Response AnswerMetrics(const ApiContext &context, const Request &request);
// /api/run?id=: steps, workers, curves, groups of layers, findings.
Response AnswerRun(const ApiContext &context, const Request &request);
// /api/series?id=&tensor=&worker=&measure=&first=&end=&pixels=&smooth=: the lines of a chart.
Response AnswerSeries(const ApiContext &context, const Request &request);
// /api/times?id=&tensor=&pixels=: when steps were recorded.
Response AnswerTimes(const ApiContext &context, const Request &request);
// /api/configuration?id=: names and values.
Response AnswerConfiguration(const ApiContext &context, const Request &request);
// /api/profile?id=: where the time goes, see Profiles.
Response AnswerProfile(const ApiContext &context, const Request &request);
// /api/booster?id=: the importance of features, and the trees.
Response AnswerBooster(const ApiContext &context, const Request &request);
// /api/predictions?id=: the quality of the last predictions; null if there are none with labels.
Response AnswerPredictions(const ApiContext &context, const Request &request);
// /api/findings?id=: the steps with findings of each rule, and of its first finding the values at
// these, the limit and which curve shows it.
Response AnswerRuleFindings(const ApiContext &context, const Request &request);
// /api/report?id=: what `smdebug report` writes of the run, to be saved as a file.
Response AnswerReport(const ApiContext &context, const Request &request);
// /api/heat?id=&group=&text=&measure=&worker=&first=&end=&columns=&from=&count=: layers over steps.
Response AnswerHeat(const ApiContext &context, const Request &request);
// /api/histograms?id=&tensor=&step=&worker=: histograms of a tensor at this step and some others.
Response AnswerHistograms(const ApiContext &context, const Request &request);
// /api/cell?id=&tensor=&step=&worker=: the histogram and the values of a tensor at a step.
Response AnswerCell(const ApiContext &context, const Request &request);

// Returns the run that the parameter "id" names, refreshed.  Fails as Runs::Open().
std::shared_ptr<OpenRun> RunOf(const ApiContext &context, const Request &request);

}  // namespace smdebug::cli::serve
