// Runs a rule set over the steps of one job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rules/rule_set.h"
#include "rules/source.h"

namespace smdebug::rules {

// Selects the steps to evaluate, and how.
struct Range {
  int64_t first = 0;           // earlier steps are observed, but their findings are not reported
  std::optional<int64_t> end;  // exclusive; nothing: no end
  bool follows = false;        // waits for steps until the job ends
  bool includes_incomplete = false;  // also evaluates steps that a worker may still write to
  bool stops_at_finding = false;     // stops with RULE_CONDITION_MET
};

// Holds a rule set for exclusive use until destroyed.  For one thread at a time.
//
// Each step consists of BeginStep(), Observe()..., EndStep().  Run() reads a job's steps from a
// Source; a hook calls the three as it records.  No lock is held meanwhile.
class Evaluation {
 public:
  using Report = std::function<void(const Finding &finding)>;

  // `job` identifies the job.  Fails with WRONG_STATE if the set is in use, or has evaluated steps
  // of another job.
  static Result<Evaluation> Begin(std::shared_ptr<RuleSet> set, std::weak_ptr<const void> job);
  ~Evaluation();
  Evaluation(Evaluation &&) = default;
  Evaluation &operator=(Evaluation &&) = delete;

  const RuleSet *Set() const { return set_.get(); }
  // Returns the name of a rule that reads its source (see Rule::ReadsSource()), or NULL if there is
  // none.
  const std::string *RuleThatReads() const;

  // Evaluates the known steps of the range that were not evaluated before.  Skips a step whose data
  // is missing.
  Status Run(Source &source, const Range &range, const Report &report,
             Clock &clock = Clock::System());

  // Returns true if the set's save config selects the step.
  bool Selects(const StepPlace &place) const;
  // Returns false if the set's save config excludes the step.  The caller then makes no further
  // call for the step.
  bool BeginStep(const StepPlace &place);
  // Reports whether a rule needs the tensor.  Names are remembered until ForgetNames(), which the
  // caller calls when collections have changed.
  bool Wants(std::string_view tensor, const Membership &membership);
  void ForgetNames();
  // Grows when Wants() may answer otherwise than before.
  uint64_t Changes() const { return changes_; }
  // Numbers the sample.
  void Observe(Sample &sample, const Membership &membership);
  // Appends the findings of the step to `found`.
  void EndStep(std::vector<Finding> *found);
  // Ends a step and discards its findings.
  void PassStep();
  // Lets rules end the job, if steps were evaluated since it was last ended.  Appends what they
  // find, at the last step.
  void EndJob(std::vector<Finding> *found);

 private:
  explicit Evaluation(std::shared_ptr<RuleSet> set) : set_(std::move(set)) {}

  RuleSet::Known &Find(std::string_view tensor, const Membership &membership);
  Status EvaluateKnown(Source &source, const Range &range, const Report &report);
  Status EvaluateStep(Source &source, int64_t step, bool is_reported, std::vector<Finding> *found);
  // Ends the job, if the source has ended, and its last step is in the range and was evaluated.
  Status EndIfOver(Source &source, const Range &range, const Report &report);
  Status Follow(Source &source, const Range &range, const Report &report, Clock &clock);
  Status Wait(Source &source, int64_t step, const Range &range, const Report &report, Clock &clock);
  // Lets rules end the step.  Rules that read a source read `source` if it is not NULL.
  Status Conclude(Source *source, std::vector<Finding> *found);
  void NoteTime(double wall_seconds, std::vector<Finding> *found);
  void Note(size_t index, Findings &findings, std::vector<Finding> *found);
  void Publish();

  std::shared_ptr<RuleSet> set_;  // NULL when moved from
  std::vector<Findings> open_;    // the step's findings, one for each entry
  // Points to the tensor that was asked for last, among the set's names.
  std::pair<const std::string, RuleSet::Known> *last_ = nullptr;
  uint64_t changes_ = 0;
};

}  // namespace smdebug::rules
