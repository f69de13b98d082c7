#include "rules/run_diff.h"

#include "base/strings.h"
#include "rules/rule.h"

namespace smdebug::rules {
namespace {

Verdict NewVerdict(const Sample &sample) {
  Verdict verdict;
  verdict.rule = "RunDiff";
  verdict.status = VerdictStatus::kFinding;
  verdict.place = sample.Place();
  verdict.worker = sample.Worker();
  verdict.tensor = sample.Tensor();
  return verdict;
}

Verdict Missing(const Sample &sample, std::string_view run) {
  Verdict verdict = NewVerdict(sample);
  verdict.label = "missing";
  verdict.message =
      StrCat("'", sample.Tensor(), "' of ", sample.Worker(), " is only in the ", run, " run");
  return verdict;
}

Verdict Different(const Sample &sample, const Difference &difference) {
  Verdict verdict = NewVerdict(sample);
  verdict.label = difference.label;
  verdict.value = difference.value;
  verdict.limit = difference.limit;
  verdict.message = StrCat("'", sample.Tensor(), "': ", difference.message);
  return verdict;
}

Status DiffStep(Source &a, Source &b, int64_t step, const Source::Wants &wants,
                const Tolerance &tolerance, RunDiff *diff) {
  SMD_ASSIGN_OR_RETURN(const StepCopy of_b, StepCopy::Of(b, step, wants));
  std::map<std::pair<std::string, std::string>, bool> in_a;
  const auto visit = [&](const Sample &sample) {
    in_a[{std::string(sample.Worker()), std::string(sample.Tensor())}] = true;
    const Sample *other = of_b.Find(sample.Worker(), sample.Tensor());
    if (other == nullptr) {
      diff->differences.push_back(Missing(sample, "first"));
      return;
    }
    ++diff->tensors;
    const auto difference = Compare(sample, *other, tolerance);
    if (difference) diff->differences.push_back(Different(sample, *difference));
  };
  SMD_RETURN_IF_ERROR(a.VisitStep(step, wants, visit));
  of_b.ForEach([&](const Sample &sample) {
    if (in_a.count({std::string(sample.Worker()), std::string(sample.Tensor())}) == 0) {
      diff->differences.push_back(Missing(sample, "second"));
    }
  });
  ++diff->steps;
  return Status::Ok();
}

}  // namespace

Result<RunDiff> DiffRuns(Source &a, Source &b, const Source::Wants &wants,
                         const Tolerance &tolerance) {
  RunDiff diff;
  SMD_ASSIGN_OR_RETURN(std::optional<int64_t> of_a, a.NextStep(0));
  SMD_ASSIGN_OR_RETURN(std::optional<int64_t> of_b, b.NextStep(0));
  const StandingStill a_stands_still(a);
  const StandingStill b_stands_still(b);
  while (diff.differences.empty() && of_a && of_b) {
    if (*of_a == *of_b) {
      SMD_RETURN_IF_ERROR(DiffStep(a, b, *of_a, wants, tolerance, &diff));
    } else {
      ++diff.steps_of_one;
    }
    const int64_t step = std::min(*of_a, *of_b);
    SMD_ASSIGN_OR_RETURN(of_a, a.NextStep(step + 1));
    SMD_ASSIGN_OR_RETURN(of_b, b.NextStep(step + 1));
  }
  for (; diff.differences.empty() && of_a; ++diff.steps_of_one) {
    SMD_ASSIGN_OR_RETURN(of_a, a.NextStep(*of_a + 1));
  }
  for (; diff.differences.empty() && of_b; ++diff.steps_of_one) {
    SMD_ASSIGN_OR_RETURN(of_b, b.NextStep(*of_b + 1));
  }
  return diff;
}

std::vector<Verdict> ToVerdicts(const RunDiff &diff) {
  if (!diff.differences.empty()) return diff.differences;
  Verdict verdict;
  verdict.rule = "RunDiff";
  verdict.status = diff.tensors > 0 ? VerdictStatus::kNoIssue : VerdictStatus::kNotEnoughData;
  verdict.message = diff.tensors > 0
                        ? StrCat("no difference in ", diff.tensors, " tensors of ", diff.steps,
                                 " steps; ", diff.steps_of_one, " steps are in one run only")
                        : StrCat("there is no tensor that both runs have at the same step; ",
                                 diff.steps_of_one, " steps are in one run only");
  return {verdict};
}

}  // namespace smdebug::rules
