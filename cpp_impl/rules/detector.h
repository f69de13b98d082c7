// The logic of one built-in rule.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/sample.h"
#include "rules/verdict.h"

namespace smdebug::rules {

class Source;

// Which collections a tensor belongs to, as the job's hook says.
class Membership {
 public:
  virtual ~Membership() = default;
  virtual bool IsIn(std::string_view collection, std::string_view tensor) const = 0;
};

// Collects what is found at one step.
class Findings {
 public:
  explicit Findings(StepPlace place) : place_(place) {}

  const StepPlace &Place() const { return place_; }
  // When the step was recorded, which its samples do not say.
  void NoteWallSeconds(double seconds) { place_.wall_seconds = seconds; }
  // Rule, status and place are filled in, and the rule's action unless it is a milder one.
  void Add(Verdict verdict) {
    verdict.status = VerdictStatus::kFinding;
    verdict.place = place_;
    verdicts_.push_back(std::move(verdict));
  }
  std::vector<Verdict> &Verdicts() { return verdicts_; }

 private:
  StepPlace place_;
  std::vector<Verdict> verdicts_;
};

// Sees the steps of a job in their order; of each step, worker by worker, its tensors in
// the order they were recorded.  The same, whether the job is running in this process or
// was stored long ago.  For one thread.
class Detector {
 public:
  explicit Detector(std::string rule) : rule_(std::move(rule)) {}
  virtual ~Detector() = default;
  Detector(const Detector &) = delete;
  Detector &operator=(const Detector &) = delete;

  const std::string &Rule() const { return rule_; }

  // From about how many elements of a larger tensor the figures that it sees are estimated,
  // as Sample::Estimated() has it; 0: exact.
  int64_t SampleSize() const { return sample_size_; }
  void SetSampleSize(int64_t most) { sample_size_ = most; }

  // Whether it looks at tensors of that name; asked once a name.
  virtual bool Wants(std::string_view tensor, const Membership &membership) const = 0;

  // Sees a tensor that it wants.
  virtual void Observe(const Sample &sample, Findings &findings) = 0;

  // After the last tensor of a step, also of one without a tensor that it wants.
  virtual void EndStep(Findings &findings) { (void)findings; }

  // Whether it asks when steps were recorded.
  virtual bool NeedsTimes() const { return false; }
  // While no step comes: what the time is, in seconds since 1970.
  virtual void NoteTime(double wall_seconds, Findings &findings) {
    (void)wall_seconds;
    (void)findings;
  }

  // The other jobs that its parameters name, of those rules that compare jobs.  Whoever can
  // open them hands them over, or others, before the first step.
  virtual std::vector<std::string> OtherJobs() const { return {}; }
  virtual void CompareWith(const std::shared_ptr<Source> &) {}

  // Whether there ever was enough to judge by; if not, what it waits for.
  bool HasJudged() const { return has_judged_; }
  virtual std::string Missing() const { return "a step that it can judge"; }

 protected:
  void NoteJudged() { has_judged_ = true; }

 private:
  const std::string rule_;
  int64_t sample_size_ = 0;
  bool has_judged_ = false;
};

}  // namespace smdebug::rules
