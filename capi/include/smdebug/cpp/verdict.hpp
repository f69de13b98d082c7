// What rules say of a job.
#ifndef SMDEBUG_CPP_VERDICT_HPP
#define SMDEBUG_CPP_VERDICT_HPP

#include <limits>
#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/panel.h"

namespace smdebug {

// Findings are made at one step, the others said of a whole run.
enum class VerdictStatus : smd_verdict_status {
  kNoIssue = SMD_VERDICT_NO_ISSUE,
  kFinding = SMD_VERDICT_FINDING,
  kNoTensor = SMD_VERDICT_NO_TENSOR,
  kNotEnoughData = SMD_VERDICT_NOT_ENOUGH_DATA
};

// What is to be done about a finding; the most severe is the greatest.
enum class Action : smd_action {
  kContinue = SMD_ACTION_CONTINUE,
  kWarn = SMD_ACTION_WARN,
  kStop = SMD_ACTION_STOP
};

// "finding", "no_tensor", ...; "" for anything else.  smd_verdict_status_name().
inline const char *Name(VerdictStatus status) noexcept {
  return smd_verdict_status_name(static_cast<smd_verdict_status>(status));
}

// "continue", "warn", "stop"; "" for anything else.  smd_action_name().
inline const char *Name(Action action) noexcept {
  return smd_action_name(static_cast<smd_action>(action));
}

// One thing that a rule says.
struct Verdict {
  std::string rule;
  VerdictStatus status = VerdictStatus::kNoIssue;
  Action action = Action::kContinue;
  int64_t step = -1;  // the global step of a finding; -1 for what is said of a whole run
  Mode mode = Mode::kGlobal;
  int64_t mode_step = -1;
  std::string worker;                                       // "" where that is not said
  std::string tensor;                                       // the one that did it, or ""
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN where nothing was measured
  double limit = std::numeric_limits<double>::quiet_NaN();  // NaN where there is none
  std::string label;                                        // which of the rule's checks, or ""
  std::string message;                                      // all that in one sentence
};

namespace detail {

using Verdicts = Handle<smd_verdicts, smd_verdicts_free>;

inline Verdict ToVerdict(const smd_verdicts *list, size_t i) {
  Verdict verdict;
  verdict.rule = smd_verdicts_rule(list, i);
  verdict.status = static_cast<VerdictStatus>(smd_verdicts_status(list, i));
  verdict.action = static_cast<Action>(smd_verdicts_action(list, i));
  verdict.step = smd_verdicts_step(list, i);
  verdict.mode = static_cast<Mode>(smd_verdicts_mode(list, i));
  verdict.mode_step = smd_verdicts_mode_step(list, i);
  verdict.worker = smd_verdicts_worker(list, i);
  verdict.tensor = smd_verdicts_tensor(list, i);
  verdict.value = smd_verdicts_value(list, i);
  verdict.limit = smd_verdicts_limit(list, i);
  verdict.label = smd_verdicts_label(list, i);
  verdict.message = smd_verdicts_message(list, i);
  return verdict;
}

inline std::vector<Verdict> ToVector(const Verdicts &list) {
  std::vector<Verdict> verdicts;
  const size_t count = smd_verdicts_count(list.get());
  verdicts.reserve(count);
  for (size_t i = 0; i < count; ++i) verdicts.push_back(ToVerdict(list.get(), i));
  return verdicts;
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_VERDICT_HPP
