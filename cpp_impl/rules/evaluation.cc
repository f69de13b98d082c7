#include "rules/evaluation.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <utility>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// Limits the memory of a job that invents a new name at every step.
constexpr size_t kMostNames = 200'000;

// The interval at which rules that need times are called while no step arrives.
constexpr Clock::Duration kBetweenTimes = std::chrono::seconds(1);

// Holds a sample and its estimates, one for each estimate size.
class Estimates {
 public:
  explicit Estimates(Sample &sample) : sample_(sample) {}

  Sample &Of(int64_t most) {
    const tensor::View *elements = sample_.RealElements();
    if (most == 0 || elements == nullptr || elements->ElementCount() <= most) return sample_;
    if (!first_) first_.emplace(most, sample_.Estimated(most));
    if (first_->first == most) return first_->second;
    const auto known = std::find_if(others_.begin(), others_.end(),
                                    [most](const auto &each) { return each.first == most; });
    if (known != others_.end()) return known->second;
    return others_.emplace_back(most, sample_.Estimated(most)).second;
  }

 private:
  using Estimate = std::pair<int64_t, Sample>;

  Sample &sample_;
  std::optional<Estimate> first_;  // most rules have the same size
  std::list<Estimate> others_;
};

bool IsSameJob(const std::weak_ptr<const void> &a, const std::weak_ptr<const void> &b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

// Returns the next step number, or nothing after the largest number.
std::optional<int64_t> After(int64_t step) {
  if (step == INT64_MAX) return {};
  return step + 1;
}

Result<std::optional<int64_t>> NextStepAfter(Source &source, int64_t step) {
  const std::optional<int64_t> next = After(step);
  if (!next) return std::optional<int64_t>();
  return source.NextStep(*next);
}

bool IsBeforeEnd(const std::optional<int64_t> &step, const Range &range) {
  return step && (!range.end || *step < *range.end);
}

Status ConditionMet(const Finding &finding) {
  return Status(Code::kRuleConditionMet,
                StrCat(finding.rule, " is met at step ", finding.place.step, ": ", finding.message))
      .With("rule", finding.rule)
      .With("step", std::to_string(finding.place.step));
}

Status Tell(const std::vector<Finding> &found, const Range &range,
            const Evaluation::Report &report) {
  for (const Finding &finding : found) {
    report(finding);
    if (range.stops_at_finding && finding.level == Level::kFinding) return ConditionMet(finding);
  }
  return Status::Ok();
}

}  // namespace

Result<Evaluation> Evaluation::Begin(std::shared_ptr<RuleSet> set, std::weak_ptr<const void> job) {
  const MutexLock lock(set->mutex_);
  if (set->is_in_use_) {
    return WrongState(
        "the rule set is being evaluated or attached to a hook; make one rule set for each");
  }
  if (set->last_step_ >= 0 && !IsSameJob(set->job_, job)) {
    return WrongState(
        "the rule set has evaluated steps of another trial or hook; make one rule set for each, or "
        "reset this one");
  }
  set->job_ = std::move(job);
  set->is_in_use_ = true;
  return Evaluation(std::move(set));
}

Evaluation::~Evaluation() {
  if (!set_) return;
  const MutexLock lock(set_->mutex_);
  set_->is_in_use_ = false;
}

const std::string *Evaluation::RuleThatReads() const {
  for (const RuleSet::Entry &entry : set_->entries_) {
    if (entry.rule->ReadsSource()) return &entry.rule->Name();
  }
  return nullptr;
}

// ---- one step ------------------------------------------------------------------------------

bool Evaluation::Selects(const StepPlace &place) const {
  const std::optional<config::SaveConfigMode> &settings = set_->saves_.Of(place.mode);
  return !settings || settings->Wants(place.mode_step);
}

bool Evaluation::BeginStep(const StepPlace &place) {
  set_->last_step_ = place.step;
  if (!Selects(place)) return false;
  set_->last_place_ = place;
  open_.clear();
  open_.resize(set_->entries_.size(), Findings(place));
  return true;
}

RuleSet::Known &Evaluation::Find(std::string_view tensor, const Membership &membership) {
  // A tensor that is wanted is observed next.
  if (last_ != nullptr && last_->first == tensor && last_->second.is_asked) return last_->second;
  auto &names = set_->names_;
  auto found = names.find(tensor);
  if (found == names.end()) {
    last_ = nullptr;
    if (names.size() >= kMostNames) names.clear();
    found = names.emplace(std::string(tensor), RuleSet::Known()).first;
  }
  last_ = &*found;
  if (found->second.is_asked) return found->second;
  RuleSet::Known &known = found->second;
  known.wanting.clear();
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    const std::optional<size_t> role = set_->entries_[i].rule->RoleOf(tensor, membership);
    if (role) known.wanting.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(*role)});
  }
  known.wanting.shrink_to_fit();  // a large model has very many names
  known.is_asked = true;
  return known;
}

void Evaluation::ForgetNames() {
  for (auto &[name, known] : set_->names_) known.is_asked = false;
  ++changes_;
}

bool Evaluation::Wants(std::string_view tensor, const Membership &membership) {
  const auto &wanting = Find(tensor, membership).wanting;
  return std::any_of(wanting.begin(), wanting.end(), [this](const RuleSet::Wanting &each) {
    const RuleSet::Entry &entry = set_->entries_[each.entry];
    return !entry.has_ended || !entry.has_seen_tensor;
  });
}

void Evaluation::Observe(Sample &sample, const Membership &membership) {
  RuleSet::Known &known = Find(sample.Tensor(), membership);
  if (known.number == 0 && set_->numbers_ < kMostNames) {
    known.number = ++set_->numbers_;
    known.worker = sample.Worker();
  }
  if (known.worker == sample.Worker()) sample.SetNumber(known.number);
  Estimates estimates(sample);
  for (const RuleSet::Wanting &wanting : known.wanting) {
    RuleSet::Entry &entry = set_->entries_[wanting.entry];
    if (!std::exchange(entry.has_seen_tensor, true)) ++changes_;
    if (entry.has_ended) continue;
    Sample &observed = estimates.Of(entry.rule->SampleSize());
    observed.SetRole(wanting.role);
    entry.rule->Observe(observed, open_[wanting.entry]);
  }
}

void Evaluation::EndStep(std::vector<Finding> *found) { (void)Conclude(nullptr, found); }

Status Evaluation::Conclude(Source *source, std::vector<Finding> *found) {
  Status status;
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    RuleSet::Entry &entry = set_->entries_[i];
    if (entry.has_ended) continue;
    entry.rule->EndStep(open_[i]);
    if (source != nullptr && entry.rule->ReadsSource() && status.IsOk()) {
      const Status read = entry.rule->Read(*source, open_[i]);
      if (!read.IsOk() && !IsMissingData(read)) status = read;
    }
    Note(i, open_[i], found);
    entry.has_ended = entry.rule->HasFinished();
    if (entry.has_ended) ++changes_;
  }
  Publish();
  return status;
}

void Evaluation::PassStep() {
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    if (!set_->entries_[i].has_ended) set_->entries_[i].rule->EndStep(open_[i]);
  }
  Publish();
}

void Evaluation::NoteTime(double wall_seconds, std::vector<Finding> *found) {
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    if (set_->entries_[i].has_ended) continue;
    Findings findings(set_->last_place_);
    set_->entries_[i].rule->NoteTime(wall_seconds, findings);
    Note(i, findings, found);
  }
  Publish();
}

void Evaluation::EndJob(std::vector<Finding> *found) {
  if (std::exchange(set_->ended_at_, set_->last_step_) == set_->last_step_) return;
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    if (set_->entries_[i].has_ended) continue;
    Findings findings(set_->last_place_);
    set_->entries_[i].rule->EndJob(findings);
    Note(i, findings, found);
  }
  Publish();
}

void Evaluation::Note(size_t index, Findings &findings, std::vector<Finding> *found) {
  if (findings.All().empty() && findings.Clues().empty()) return;
  const RuleSet::Entry &entry = set_->entries_[index];
  const MutexLock lock(set_->mutex_);
  RuleSet::Summary &summary = set_->summaries_[index];
  for (Finding &finding : findings.All()) {
    finding.rule = entry.rule->Name();
    finding.action = finding.level == Level::kFinding ? std::max(finding.action, entry.action)
                                                      : Action::kContinue;
    summary.Count(finding);
    set_->evidence_.Note(finding);
    found->push_back(std::move(finding));
  }
  for (Finding &clue : findings.Clues()) {
    clue.rule = entry.rule->Name();
    set_->evidence_.NoteClue(clue);
  }
}

void Evaluation::Publish() {
  const MutexLock lock(set_->mutex_);
  for (size_t i = 0; i < set_->entries_.size(); ++i) {
    const RuleSet::Entry &entry = set_->entries_[i];
    RuleSet::Summary &summary = set_->summaries_[i];
    summary.has_seen_tensor = entry.has_seen_tensor;
    summary.has_evaluated = entry.rule->HasEvaluated();
    if (entry.has_seen_tensor && !summary.has_evaluated) summary.missing = entry.rule->Missing();
  }
}

// ---- the steps of a source -----------------------------------------------------------------

Status Evaluation::EvaluateStep(Source &source, int64_t step, bool is_reported,
                                std::vector<Finding> *found) {
  set_->last_step_ = step;
  SMD_ASSIGN_OR_RETURN(StepPlace place, source.PlaceOf(step));
  const bool needs_times =
      std::any_of(set_->entries_.begin(), set_->entries_.end(),
                  [](const RuleSet::Entry &entry) { return entry.rule->NeedsTimes(); });
  if (!BeginStep(place)) return Status::Ok();
  // The caller's functions read again what the built-in rules have read, and each what the others
  // have.
  std::optional<SharedReading> shared;
  if (is_reported && RuleThatReads() != nullptr) shared.emplace(source);
  const Membership &collections = source.Collections();
  const Status visited = source.VisitStep(
      step, [&](std::string_view tensor) { return Wants(tensor, collections); },
      [&](Sample &sample) { Observe(sample, collections); });
  if (needs_times) {
    const double seconds = source.WallSecondsOf(step);
    for (Findings &findings : open_) findings.NoteWallSeconds(seconds);
  }
  const bool is_readable = visited.IsOk() || IsMissingData(visited);
  // The step is concluded even after a failure: its tensors must not count towards the next step.
  Status concluded;
  if (is_reported) {
    concluded = Conclude(is_readable ? &source : nullptr, found);
  } else {
    PassStep();
  }
  return is_readable ? concluded : visited;
}

Status Evaluation::EvaluateKnown(Source &source, const Range &range, const Report &report) {
  SMD_ASSIGN_OR_RETURN(std::optional<int64_t> step, NextStepAfter(source, set_->last_step_));
  // One refresh before the loop finds all known steps.
  const StandingStill held(source);
  while (IsBeforeEnd(step, range)) {
    if (!range.includes_incomplete) {
      SMD_ASSIGN_OR_RETURN(const bool is_complete, source.IsComplete(*step));
      if (!is_complete) break;
    }
    std::vector<Finding> found;
    const Status status = EvaluateStep(source, *step, *step >= range.first, &found);
    SMD_RETURN_IF_ERROR(Tell(found, range, report));
    SMD_RETURN_IF_ERROR(status);
    SMD_ASSIGN_OR_RETURN(step, NextStepAfter(source, *step));
  }
  return Status::Ok();
}

Status Evaluation::Wait(Source &source, int64_t step, const Range &range, const Report &report,
                        Clock &clock) {
  const bool needs_times =
      std::any_of(set_->entries_.begin(), set_->entries_.end(),
                  [](const RuleSet::Entry &entry) { return entry.rule->NeedsTimes(); });
  if (!needs_times) return source.WaitForStep(step);
  while (true) {
    Status status = source.WaitForStepUntil(step, Deadline::After(clock, kBetweenTimes));
    if (status.GetCode() != Code::kTimeout) return status;
    std::vector<Finding> found;
    NoteTime(clock.WallSeconds(), &found);
    SMD_RETURN_IF_ERROR(Tell(found, range, report));
  }
}

Status Evaluation::EndIfOver(Source &source, const Range &range, const Report &report) {
  // Callers that evaluate step by step end the range after each.
  const int64_t last = set_->last_step_;
  if (last < range.first || (range.end && *range.end <= last)) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const bool has_ended, source.HasEnded());
  if (!has_ended) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, NextStepAfter(source, last));
  if (next) return Status::Ok();
  std::vector<Finding> found;
  EndJob(&found);
  return Tell(found, range, report);
}

Status Evaluation::Follow(Source &source, const Range &range, const Report &report, Clock &clock) {
  std::optional<int64_t> step = After(set_->last_step_);
  if (step) step = std::max(*step, range.first);
  while (IsBeforeEnd(step, range)) {
    const Status status = Wait(source, *step, range, report, clock);
    if (status.GetCode() == Code::kNoMoreData) return EndIfOver(source, range, report);
    if (status.GetCode() == Code::kStepUnavailable) {
      SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, NextStepAfter(source, *step));
      step = next ? next : After(*step);
      continue;
    }
    SMD_RETURN_IF_ERROR(status);
    SMD_RETURN_IF_ERROR(EvaluateKnown(source, range, report));
    step = After(std::max(*step, set_->last_step_));
  }
  return Status::Ok();
}

Status Evaluation::Run(Source &source, const Range &range, const Report &report, Clock &clock) {
  SMD_RETURN_IF_ERROR(EvaluateKnown(source, range, report));
  return range.follows ? Follow(source, range, report, clock) : EndIfOver(source, range, report);
}

}  // namespace smdebug::rules
