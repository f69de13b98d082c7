#include "rules/detector_rule.h"

namespace smdebug::rules {

DetectorRule::DetectorRule(Make make) : make_(std::move(make)), name_(make_()->Rule()) {
  BeginAnew();
}

void DetectorRule::BeginAnew() {
  panel_ = std::make_unique<Panel>();
  panel_->Add(make_());
  last_shown_ = -1;
}

Result<Judgement> DetectorRule::Judge(Source &source, int64_t step) {
  if (step <= last_shown_) BeginAnew();
  PanelRun run(*panel_, source, last_shown_);
  Judgement judgement;
  const Status status =
      run.Run({step, step + 1, false}, Reach::kKnown, [&](const Verdict &verdict) {
        judgement.is_finding = true;
        judgement.ends_rule = verdict.ends_rule;
        judgement.message = verdict.message;
      });
  last_shown_ = run.LastShown();
  if (!status.IsOk()) return status;
  return judgement;
}

}  // namespace smdebug::rules
