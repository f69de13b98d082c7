#include "diagnose/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/strings.h"
#include "diagnose/table.h"

namespace smdebug::diagnose::diagnosis_test {
namespace {

using rules::Evidence;
using rules::RuleResult;
using rules::RuleStatus;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

struct Found {
  const char *rule;
  const char *check;
  const char *tensor;
  int64_t step;
  int64_t count;
  int64_t tensors = 1;
  bool is_clue = false;
};

struct Example {
  std::vector<Found> found;
  Chances chances;
};

#include "diagnose/general_examples.h"
#include "diagnose/llm_examples.h"

std::vector<Evidence> EvidenceOf(const std::vector<Found> &found) {
  std::vector<Evidence> all;
  for (const Found &each : found) {
    Evidence evidence;
    evidence.first.rule = each.rule;
    evidence.first.check = each.check;
    evidence.first.tensor = each.tensor;
    evidence.first.place.step = each.step;
    evidence.count = each.count - (each.tensors - 1);
    evidence.is_clue = each.is_clue;
    evidence.is_sure = !each.is_clue;
    all.push_back(evidence);
    for (int64_t i = 1; i < each.tensors; ++i) {
      evidence.first.tensor = StrCat(each.tensor, " ", i);
      evidence.count = 1;
      all.push_back(evidence);
    }
  }
  return all;
}

Chances ChancesFor(const std::vector<Found> &found) {
  return ChancesOf(GroupsOf(EvidenceOf(found)), GeneralTable());
}

std::vector<std::pair<Example, const Table *>> EveryExample() {
  std::vector<std::pair<Example, const Table *>> every;
  for (const Example &each : kGeneralExamples) every.emplace_back(each, &GeneralTable());
  for (const Example &each : kLlmExamples) every.emplace_back(each, &LlmTable());
  return every;
}

const std::vector<Found> kNeverReset = {
    {"UpdateNotApplied", "accumulating", "gradient/Sequential_0.weight", 9, 90},
    {"UpdateNotApplied", "accumulating", "gradient/Sequential_2.weight", 9, 90}};

TEST(DiagnosisTest, WhatIsOnlyWorthALookHasNoCause) {
  std::vector<Evidence> evidence = EvidenceOf(kNeverReset);
  EXPECT_THAT(Diagnose(GroupsOf(evidence), {}, GeneralTable()), Not(IsEmpty()));
  for (Evidence &each : evidence) each.is_sure = false;
  EXPECT_THAT(Diagnose(GroupsOf(evidence), {}, GeneralTable()), IsEmpty());
}

TEST(DiagnosisTest, ChancesAreThoseOfTheToolThatFitsTheTable) {
  for (const auto &[example, table] : EveryExample()) {
    const Chances chances = ChancesOf(GroupsOf(EvidenceOf(example.found)), *table);
    ASSERT_EQ(chances.size(), example.chances.size());
    for (size_t i = 0; i < chances.size(); ++i) {
      EXPECT_NEAR(chances[i], example.chances[i], 1e-3) << example.found[0].rule << " " << i;
    }
  }
}

TEST(DiagnosisTest, ChancesAddUpToOne) {
  const Chances chances = ChancesFor(kNeverReset);
  EXPECT_NEAR(std::accumulate(chances.begin(), chances.end(), 0.0), 1, 1e-9);
}

TEST(DiagnosisTest, ConfidencesGrowWithChances) {
  double last = 0;
  for (const double chance : {0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0}) {
    EXPECT_GT(ConfidenceOf(chance, GeneralTable()), last);
    EXPECT_LT(ConfidenceOf(chance, GeneralTable()), 1);
    last = ConfidenceOf(chance, GeneralTable());
  }
}

TEST(DiagnosisTest, NothingFoundHasNoCause) {
  EXPECT_THAT(Diagnose(Findings(), {}, GeneralTable()), IsEmpty());
}

TEST(DiagnosisTest, CluesAloneHaveNoCause) {
  const Found clue = {"WeightUpdateRatio", "large_first_updates", "fc.weight", 1, 1, 1, true};
  EXPECT_THAT(Diagnose(GroupsOf(EvidenceOf({clue})), {}, GeneralTable()), IsEmpty());
  // Nor do they change which finding was the first.
  const Findings both = GroupsOf(EvidenceOf({clue, {"A", "x", "w", 40, 2}}));
  EXPECT_FALSE(both.groups[0].Has(Trait::kFirst));
  EXPECT_TRUE(both.groups[1].Has(Trait::kFirst));
  EXPECT_TRUE(both.Has(Trait::kLate));
  EXPECT_TRUE(both.Has(Trait::kAlone));
}

TEST(DiagnosisTest, FindingsOfUnknownRulesHaveChancesToo) {
  const Chances chances = ChancesFor({{"My rule", "", "", 0, 1}});
  EXPECT_TRUE(std::all_of(chances.begin(), chances.end(), [](double each) { return each < 1; }));
  EXPECT_THAT(Diagnose(GroupsOf(EvidenceOf({{"My rule", "", "", 0, 1}})), {}, GeneralTable()),
              IsEmpty())
      << "nothing speaks for any cause";
}

TEST(DiagnosisTest, TheLikeliestCauseIsFirstWithItsEvidence) {
  const std::vector<LikelyCause> causes =
      Diagnose(GroupsOf(EvidenceOf(kNeverReset)), {}, GeneralTable());
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].cause, Cause::kGradientsNotReset);
  EXPECT_GT(causes[0].confidence, 0.7);
  ASSERT_THAT(causes[0].evidence, SizeIs(1));
  EXPECT_EQ(causes[0].evidence[0].first.check, "accumulating");
  EXPECT_EQ(causes[0].evidence[0].first.place.step, 9);
  EXPECT_EQ(causes[0].evidence[0].count, 180);
  EXPECT_EQ(causes[0].evidence[0].tensors, 2);
}

// The findings of the demo's faulty training, of seven layers of sigmoids.
TEST(DiagnosisTest, AFirstLayerWithoutGradientHasOneThatVanishes) {
  const std::vector<LikelyCause> causes = Diagnose(
      GroupsOf(EvidenceOf({{"VanishingGradient", "ratio", "gradient/layer1.weight", 41, 32}})), {},
      GeneralTable());
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].cause, Cause::kGradientsVanish);
}

TEST(DiagnosisTest, TheOrderOfFindingsDoesNotMatter) {
  std::vector<Found> found = {{"WeightUpdateRatio", "small", "Sequential_4.weight", 5, 95},
                              {"UpdateNotApplied", "not_updated", "Sequential_4.weight", 12, 90},
                              {"ExplodingTensor", "nan", "Sequential_4.weight", 40, 3}};
  const Chances chances = ChancesFor(found);
  std::reverse(found.begin(), found.end());
  const Chances reversed = ChancesFor(found);
  for (size_t i = 0; i < chances.size(); ++i) EXPECT_NEAR(reversed[i], chances[i], 1e-12);
}

TEST(DiagnosisTest, RulesWithoutDataAreNamedIfTheyMatterToTheCause) {
  const std::vector<RuleResult> results = {
      {"WeightUpdateRatio", RuleStatus::kNoTensors, 0, 0, {}, ""},
      {"LossNotDecreasing", RuleStatus::kNotEnoughData, 0, 0, {}, ""},
      {"FirstNonFinite", RuleStatus::kNoTensors, 0, 0, {}, ""},
      {"VanishingGradient", RuleStatus::kNotEnoughData, 0, 0, {}, ""},
      {"TreeDepth", RuleStatus::kNoTensors, 0, 0, {}, ""},  // matters to no cause
      {"ExplodingTensor", RuleStatus::kPassed, 0, 0, {}, ""}};
  bool has_missing = false;
  for (const Example &example : kGeneralExamples) {
    for (const LikelyCause &cause :
         Diagnose(GroupsOf(EvidenceOf(example.found)), results, GeneralTable())) {
      has_missing |= !cause.missing.empty();
      EXPECT_LE(cause.missing.size(), 3u);
      EXPECT_THAT(cause.missing,
                  testing::Each(testing::AnyOf("WeightUpdateRatio", "LossNotDecreasing",
                                               "FirstNonFinite", "VanishingGradient")));
    }
  }
  EXPECT_TRUE(has_missing);
}

TEST(DiagnosisTest, NoMoreThanThreeCausesInOrder) {
  for (const Example &example : kGeneralExamples) {
    const std::vector<LikelyCause> causes =
        Diagnose(GroupsOf(EvidenceOf(example.found)), {}, GeneralTable());
    EXPECT_LE(causes.size(), 3u);
    for (const LikelyCause &cause : causes) EXPECT_FALSE(cause.evidence.empty());
    for (size_t i = 1; i < causes.size(); ++i) {
      EXPECT_GE(causes[i - 1].confidence, causes[i].confidence);
    }
  }
}

TEST(CauseTest, EachHasItsOwnTexts) {
  std::vector<std::string_view> ids;
  for (size_t i = 0; i < kCauses; ++i) {
    const CauseText &text = TextOf(static_cast<Cause>(i));
    EXPECT_FALSE(text.title.empty());
    EXPECT_EQ(std::string("docs/diagnosis.md#") + std::string(text.id), text.link);
    EXPECT_THAT(ids, testing::Not(Contains(text.id)));
    ids.push_back(text.id);
  }
}

TEST(TraitsTest, GroupsKeepTheLowestStepAndCountTensors) {
  const Findings findings = GroupsOf(EvidenceOf({{"A", "x", "w", 40, 2}, {"A", "x", "v", 3, 1}}));
  ASSERT_THAT(findings.groups, SizeIs(1));
  const Group &group = findings.groups[0];
  EXPECT_EQ(group.first.tensor, "v");
  EXPECT_EQ(group.count, 3);
  EXPECT_EQ(group.tensors, 2);
  EXPECT_TRUE(group.Has(Trait::kFirst));
  EXPECT_TRUE(group.Has(Trait::kEarly));
  EXPECT_FALSE(group.Has(Trait::kSingle));
  EXPECT_TRUE(findings.Has(Trait::kAlone));
}

Trait RoleOf(const char *tensor) {
  const Findings findings = GroupsOf(EvidenceOf({{"A", "", tensor, 0, 1}}));
  for (const Trait trait : {Trait::kInWeight, Trait::kInGradient, Trait::kInLoss, Trait::kInInput,
                            Trait::kInOutput, Trait::kInLabel}) {
    if (findings.groups[0].Has(trait)) return trait;
  }
  return Trait::kFound;
}

TEST(TraitsTest, TheNameTellsWhatATensorIs) {
  EXPECT_EQ(RoleOf("gradient/Sequential_0.weight"), Trait::kInGradient);
  EXPECT_EQ(RoleOf("Sequential_0.weight"), Trait::kInWeight);
  EXPECT_EQ(RoleOf("CrossEntropyLoss_output_0"), Trait::kInLoss);
  EXPECT_EQ(RoleOf("CrossEntropyLoss_input_0"), Trait::kInOutput);
  EXPECT_EQ(RoleOf("CrossEntropyLoss_input_1"), Trait::kInLabel);
  EXPECT_EQ(RoleOf("Sequential_input_0"), Trait::kInInput);
  EXPECT_EQ(RoleOf("0_input_0"), Trait::kInOutput);
  EXPECT_EQ(RoleOf("relu1_output_0"), Trait::kInOutput);
  EXPECT_EQ(RoleOf(""), Trait::kInWeight);
}

}  // namespace
}  // namespace smdebug::diagnose::diagnosis_test
