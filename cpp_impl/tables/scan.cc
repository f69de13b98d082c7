#include "tables/scan.h"

#include <algorithm>
#include <map>

#include "base/parallel.h"
#include "format/paths.h"
#include "storage/store.h"
#include "tables/find_trials.h"
#include "tables/finding_stream.h"
#include "tables/profile_stream.h"
#include "tables/step_rows.h"
#include "tables/tensor_stream.h"
#include "tables/trial_stream.h"

namespace smdebug::tables {
namespace {

Result<std::vector<StepFile>> StepFilesOf(const Request &request, const FoundTrial &trial) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                       storage::OpenStore(trial.path, request.store_options, request.logger));
  return ListStepFiles(*store, request.steps, request.workers);
}

std::vector<Partition> Divide(const Request &request, const FoundTrial &trial) {
  Partition whole{trial.path, trial.name, "", request.steps.first, request.steps.end.value_or(-1)};
  const auto files = StepFilesOf(request, trial);
  if (!files.IsOk()) return {whole};
  std::map<std::pair<int64_t, std::string>, Partition> parts;  // by thousand and worker
  for (const StepFile &file : *files) {
    const int64_t thousand = file.step / format::kStepsPerBucket;
    const int64_t first = std::max(thousand * format::kStepsPerBucket, request.steps.first);
    int64_t end = first - first % format::kStepsPerBucket + format::kStepsPerBucket;
    if (request.steps.end) end = std::min(end, *request.steps.end);
    parts.try_emplace({thousand, file.worker},
                      Partition{trial.path, trial.name, file.worker, first, end});
  }
  std::vector<Partition> list;
  list.reserve(parts.size());
  for (auto &[key, part] : parts) list.push_back(std::move(part));
  return list;
}

}  // namespace

Result<std::unique_ptr<BatchStream>> OpenScan(std::shared_ptr<const Request> request) {
  SMD_RETURN_IF_ERROR(request->Check());
  SMD_ASSIGN_OR_RETURN(std::vector<FoundTrial> trials, FindTrials(*request));
  switch (request->table) {
    case Table::kFindings: return StreamFindings(std::move(request), std::move(trials));
    case Table::kTrials: return StreamTrials(std::move(request), std::move(trials));
    case Table::kProfileEvents:
    case Table::kSystemMetrics: return StreamProfiles(std::move(request), std::move(trials));
    default: return StreamTensors(std::move(request), std::move(trials));
  }
}

Result<std::vector<Partition>> PartitionsOf(const Request &request) {
  SMD_RETURN_IF_ERROR(request.Check());
  SMD_ASSIGN_OR_RETURN(const std::vector<FoundTrial> trials, FindTrials(request));
  const bool by_steps = request.table == Table::kTensors || request.table == Table::kScalars;
  std::vector<std::vector<Partition>> of_trials(trials.size());
  const size_t at_once = trials.empty() ? 0 : LooksAtOnce(trials.front().path);
  InParallel(trials.size(), at_once, [&](size_t i) {
    const int64_t end = request.steps.end.value_or(-1);
    of_trials[i] = by_steps ? Divide(request, trials[i])
                            : std::vector<Partition>{
                                  {trials[i].path, trials[i].name, "", request.steps.first, end}};
  });
  std::vector<Partition> all;
  for (auto &some : of_trials) {
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace smdebug::tables
