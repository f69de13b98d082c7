// What a built-in rule finds in a job that a test tells.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rules/evaluation.h"
#include "rules/fake_source.h"
#include "rules/registry.h"

namespace smdebug::rules {

struct Evaluated {
  std::vector<Finding> findings;
  std::vector<Evidence> clues;
  RuleResult result;

  std::vector<int64_t> Steps() const {
    std::vector<int64_t> steps;
    for (const Finding &finding : findings) steps.push_back(finding.place.step);
    return steps;
  }
  std::vector<std::string> Tensors() const {
    std::vector<std::string> tensors;
    for (const Finding &finding : findings) tensors.push_back(finding.tensor);
    return tensors;
  }
  std::vector<std::string> Clues() const {
    std::vector<std::string> checks;
    for (const Evidence &clue : clues) checks.push_back(clue.first.check);
    return checks;
  }
  std::vector<std::string> Checks() const {
    std::vector<std::string> checks;
    for (const Finding &finding : findings) checks.push_back(finding.check);
    return checks;
  }
};

inline Evaluated EvaluateWith(const RuleFactory &make, FakeSource &source,
                              const Range &range = {}) {
  Evaluated evaluated;
  const std::string rule = make()->Name();
  const auto set = std::make_shared<RuleSet>();
  EXPECT_TRUE(set->Add(make).IsOk());
  Evaluation evaluation = *Evaluation::Begin(set, {});
  const Status status = evaluation.Run(source, range, [&](const Finding &finding) {
    EXPECT_EQ(finding.rule, rule);
    EXPECT_FALSE(finding.message.empty());
    evaluated.findings.push_back(finding);
  });
  EXPECT_TRUE(status.IsOk()) << status.Message();
  evaluated.result = set->Results().front();
  for (const Evidence &each : set->FoldedFindings()) {
    if (each.is_clue) evaluated.clues.push_back(each);
  }
  return evaluated;
}

inline Evaluated Evaluate(std::string_view rule, const Parameters::Given &parameters,
                          FakeSource &source, Profile profile = Profile::kAws,
                          const Range &range = {}) {
  const auto make = BuiltinRule(rule, parameters, profile);
  EXPECT_TRUE(make.IsOk()) << make.GetStatus().Message();
  return make.IsOk() ? EvaluateWith(*make, source, range) : Evaluated{};
}

// Why parameters are refused; "" if they are accepted.
inline std::string Refusal(std::string_view rule, const Parameters::Given &parameters) {
  const auto make = BuiltinRule(rule, parameters, Profile::kAws);
  if (make.IsOk()) return "";
  EXPECT_EQ(make.GetStatus().GetCode(), Code::kInvalidConfig);
  return make.GetStatus().Message();
}

}  // namespace smdebug::rules
