#include "analyze/trial_source.h"

#include <algorithm>
#include <cmath>

namespace smdebug::analyze {

Result<std::shared_ptr<rules::Source>> TrialSource::Open(const std::string &path) {
  SMD_ASSIGN_OR_RETURN(TrialOptions options, TrialOptions::FromEnvironment());
  return OpenWith(path, std::move(options));
}

Result<std::shared_ptr<rules::Source>> TrialSource::OpenWith(const std::string &path,
                                                             TrialOptions options) {
  options.wait = Clock::Duration::zero();
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<Trial> trial, Trial::Make(path, std::move(options)));
  SMD_RETURN_IF_ERROR(trial->Load());
  return std::shared_ptr<rules::Source>(std::make_shared<TrialSource>(std::move(trial)));
}

Status TrialSource::WaitForStep(int64_t step) {
  return trial_->WaitForStep(step, Mode::kGlobal, Deadline::Never());
}

Status TrialSource::WaitForStepUntil(int64_t step, const Deadline &deadline) {
  return trial_->WaitForStep(step, Mode::kGlobal, deadline);
}

double TrialSource::WallSecondsOf(int64_t step) {
  if (step == visited_ && !std::isnan(visited_seconds_)) return visited_seconds_;
  // Every record holds the time at which it was created, so the smallest one is read.
  const StepRecords found = trial_->RecordsAt(step);
  const auto smallest = std::min_element(
      found.records.begin(), found.records.end(),
      [](const auto &a, const auto &b) { return a.entry.length < b.entry.length; });
  if (smallest == found.records.end()) return rules::kNoNumber;
  const auto read = trial_->ReadTensorAt(std::string(smallest->tensor), smallest->AsItem());
  return read.IsOk() ? read->context.wall_time : rules::kNoNumber;
}

Result<std::optional<int64_t>> TrialSource::NextStep(int64_t step) {
  return trial_->NextStep(step);
}

Result<bool> TrialSource::IsComplete(int64_t step) {
  SMD_ASSIGN_OR_RETURN(const StepState state, trial_->StateOf(step, Mode::kGlobal));
  return state == StepState::kAvailable;
}

Status TrialSource::VisitStep(int64_t step, const Wants &wants, const Visit &visit) {
  SMD_ASSIGN_OR_RETURN(const std::unique_ptr<StepReader> reader, ahead_.Take(step, wants));
  Status visited = reader->Visit(visit);
  visited_ = step;
  visited_seconds_ = reader->WallSeconds();
  return visited;
}

void TrialSource::Release() {
  ahead_.Forget();
  trial_->Release();
}

bool TrialSource::IsIn(std::string_view collection, std::string_view tensor) const {
  const config::CollectionPtr found = trial_->Collections().Find(collection);
  if (!found) return false;
  const auto has = found->Has(tensor);
  if (!has.IsOk()) trial_->NoteSkipped(has.GetStatus());
  return has.IsOk() && *has;
}

}  // namespace smdebug::analyze
