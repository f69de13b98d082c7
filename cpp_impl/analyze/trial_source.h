// Presents a stored trial to rules.
#pragma once

#include <memory>
#include <string>

#include "analyze/steps_ahead.h"
#include "analyze/trial.h"
#include "rules/source.h"

namespace smdebug::analyze {

class TrialSource : public rules::Source, private rules::Membership {
 public:
  explicit TrialSource(std::shared_ptr<Trial> trial) : trial_(std::move(trial)), ahead_(*trial_) {}

  // Opens a trial that a rule names.  The trial must exist.  Without options, uses those of the
  // environment.  Fails as Trial does.
  static Result<std::shared_ptr<rules::Source>> Open(const std::string &path);
  static Result<std::shared_ptr<rules::Source>> OpenWith(const std::string &path,
                                                         TrialOptions options);

  Status WaitForStep(int64_t step) override;
  Status WaitForStepUntil(int64_t step, const Deadline &deadline) override;
  double WallSecondsOf(int64_t step) override;
  Result<std::optional<int64_t>> NextStep(int64_t step) override;
  Result<bool> HasEnded() override { return trial_->HasEnded(); }
  Result<bool> IsComplete(int64_t step) override;
  Result<rules::StepPlace> PlaceOf(int64_t step) override { return ahead_.PlaceOf(step); }
  Status VisitStep(int64_t step, const Wants &wants, const Visit &visit) override;
  const rules::Membership &Collections() const override { return *this; }
  void Hold() override { trial_->Hold(); }
  void Release() override;
  void BeginSharing() override { trial_->BeginSharing(); }
  void EndSharing() override { trial_->EndSharing(); }

 private:
  bool IsIn(std::string_view collection, std::string_view tensor) const override;

  const std::shared_ptr<Trial> trial_;
  StepsAhead ahead_;
  // The step that was visited last, and its time as WallSecondsOf() returns it.
  int64_t visited_ = -1;
  double visited_seconds_ = rules::kNoNumber;
};

}  // namespace smdebug::analyze
