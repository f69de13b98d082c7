// Defines the interface of a rule.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/finding.h"
#include "rules/support/membership.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

class Source;

// Collects the findings of one rule at one step.
class Findings {
 public:
  explicit Findings(StepPlace place) : place_(place) {}

  const StepPlace &Place() const { return place_; }
  // Sets the time at which the step was recorded.  Samples do not hold it.
  void NoteWallSeconds(double seconds) { place_.wall_seconds = seconds; }
  // Adds a finding and fills in its rule and place.  The more severe of the finding's and the
  // rule's action applies, unless the finding is worth a look.
  void Add(Finding finding) { AddAt(place_, std::move(finding)); }
  // The same at an earlier step, for a finding at the end of the job.
  void AddAt(const StepPlace &place, Finding finding) {
    finding.place = place;
    findings_.push_back(std::move(finding));
  }
  std::vector<Finding> &All() { return findings_; }

  // Adds a clue.  It is not a problem, but it tells the causes of problems apart.  It is shown only
  // as evidence of a cause.  Its check has a name that no finding of the rule has.
  void AddClue(Finding clue) {
    clue.level = Level::kWorthALook;
    clue.place = place_;
    clues_.push_back(std::move(clue));
  }
  std::vector<Finding> &Clues() { return clues_; }

 private:
  StepPlace place_;
  std::vector<Finding> findings_;
  std::vector<Finding> clues_;
};

// Observes the steps of one job in order.  Within a step, it observes worker by worker; each
// worker's tensors come in the order in which they were recorded.  A rule cannot tell a job that
// runs in this process from a stored one.  For one thread.
class Rule {
 public:
  explicit Rule(std::string name) : name_(std::move(name)) {}
  virtual ~Rule() = default;
  Rule(const Rule &) = delete;
  Rule &operator=(const Rule &) = delete;

  const std::string &Name() const { return name_; }

  // Returns about how many elements the statistics of a larger tensor are estimated from, see
  // Sample::Estimated().  0: statistics are exact.
  int64_t SampleSize() const { return sample_size_; }
  void SetSampleSize(int64_t most) { sample_size_ = most; }

  // Returns what tensors of that name are to the rule, a number of its own, or nothing if it does
  // not observe them.  Called once for each name, and again if collections change.
  virtual std::optional<size_t> RoleOf(std::string_view tensor,
                                       const Membership &membership) const {
    return Wants(tensor, membership) ? std::optional<size_t>(0) : std::nullopt;
  }

  // Observes a tensor that the rule needs, whose Role() is what RoleOf() returned.
  virtual void Observe(const Sample &sample, Findings &findings) = 0;

  // Called after the last tensor of a step, even if the rule needs none of its tensors.
  virtual void EndStep(Findings &findings) { (void)findings; }

  // Called when the job has ended, after its last step; again if it goes on and ends once more.
  virtual void EndJob(Findings &findings) { (void)findings; }

  // Reports whether the rule needs the times at which steps were recorded.
  virtual bool NeedsTimes() const { return false; }
  // Called while no step arrives, with the time in seconds since 1970.
  virtual void NoteTime(double wall_seconds, Findings &findings) {
    (void)wall_seconds;
    (void)findings;
  }

  // Reports whether the rule reads the job itself.  If so, Read() is called for each step in the
  // range, after EndStep(), with no lock held.  An error that reports missing data skips the step;
  // any other error ends the evaluation.  Such a rule cannot evaluate a job that runs in this
  // process.
  virtual bool ReadsSource() const { return false; }
  virtual Status Read(Source &source, Findings &findings) {
    (void)source;
    (void)findings;
    return Status::Ok();
  }

  // Returns the other jobs that the rule's parameters name, if it compares jobs.  The caller opens
  // them and passes each to CompareWith() before the first step.
  virtual std::vector<std::string> OtherJobs() const { return {}; }
  virtual void CompareWith(const std::shared_ptr<Source> &) {}

  // Reports whether there was ever enough data.  If not, Missing() names what the rule needs.
  bool HasEvaluated() const { return has_evaluated_; }
  // Reports whether the rule needs no further step.
  bool HasFinished() const { return has_finished_; }
  virtual std::string Missing() const { return "a step that it can evaluate"; }

 protected:
  void NoteEvaluated() { has_evaluated_ = true; }
  void NoteFinished() { has_finished_ = true; }

 private:
  // For a rule whose tensors are all of one kind, in place of RoleOf(): reports whether it observes
  // those of that name.
  virtual bool Wants(std::string_view tensor, const Membership &membership) const {
    (void)tensor;
    (void)membership;
    return false;
  }

  const std::string name_;
  int64_t sample_size_ = 0;
  bool has_evaluated_ = false;
  bool has_finished_ = false;
};

}  // namespace smdebug::rules
