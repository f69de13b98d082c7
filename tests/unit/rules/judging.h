// What a built-in rule says of a job that a test tells.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rules/fake_source.h"
#include "rules/panel_run.h"
#include "rules/registry.h"

namespace smdebug::rules {

struct Judged {
  std::vector<Verdict> findings;
  Verdict outcome;

  std::vector<int64_t> Steps() const {
    std::vector<int64_t> steps;
    for (const Verdict &finding : findings) steps.push_back(finding.place.step);
    return steps;
  }
  std::vector<std::string> Tensors() const {
    std::vector<std::string> tensors;
    for (const Verdict &finding : findings) tensors.push_back(finding.tensor);
    return tensors;
  }
  std::vector<std::string> Labels() const {
    std::vector<std::string> labels;
    for (const Verdict &finding : findings) labels.push_back(finding.label);
    return labels;
  }
};

inline Judged JudgeWith(std::unique_ptr<Detector> detector, FakeSource &source,
                        const RunRange &range = {}) {
  Judged judged;
  const std::string rule = detector->Rule();
  Panel panel;
  panel.Add(std::move(detector));
  PanelRun run(panel, source);
  const Status status = run.Run(range, Reach::kKnown, [&](const Verdict &verdict) {
    EXPECT_EQ(verdict.rule, rule);
    EXPECT_EQ(verdict.status, VerdictStatus::kFinding);
    EXPECT_FALSE(verdict.message.empty());
    judged.findings.push_back(verdict);
  });
  EXPECT_TRUE(status.IsOk()) << status.Message();
  judged.outcome = panel.Outcomes().front();
  return judged;
}

inline Judged Judge(std::string_view rule, const Parameters::Given &parameters, FakeSource &source,
                    Profile profile = Profile::kAws, const RunRange &range = {}) {
  auto detector = MakeDetector(rule, parameters, profile);
  EXPECT_TRUE(detector.IsOk()) << detector.GetStatus().Message();
  return detector.IsOk() ? JudgeWith(*std::move(detector), source, range) : Judged{};
}

// Why parameters are refused; "" if they are taken.
inline std::string Refusal(std::string_view rule, const Parameters::Given &parameters) {
  const auto detector = MakeDetector(rule, parameters, Profile::kAws);
  if (detector.IsOk()) return "";
  EXPECT_EQ(detector.GetStatus().GetCode(), Code::kInvalidConfig);
  return detector.GetStatus().Message();
}

}  // namespace smdebug::rules
