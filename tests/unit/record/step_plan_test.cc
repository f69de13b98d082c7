#include "record/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::record::step_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StepPlanTest : public testing::Test {
 protected:
  StepPlanTest() {
    for (config::CollectionPtr &collection : config::CollectionSet::Defaults()) {
      collections_.Add(std::move(collection));
    }
    defaults_.save_config.SetAll({.interval = 1, .end = {}, .steps = {}});
  }

  config::CollectionPtr Collection(std::string_view name) { return collections_.GetOrCreate(name); }
  StepPlan Plan(std::vector<std::string> included) {
    defaults_.included = std::move(included);
    return {collections_, defaults_};
  }

  static void Begin(StepPlan &plan, Mode mode, int64_t mode_step) {
    const Status status = plan.Begin(mode, mode_step);
    ASSERT_TRUE(status.IsOk()) << status.Message();
  }
  // What is written of the tensor: "raw", "shape" and the names of reductions.
  static std::vector<std::string> What(const SavedParts &parts) {
    std::vector<std::string> what;
    if (parts.shape) what.emplace_back("shape");
    for (const tensor::Reduction reduction : parts.reductions) {
      what.push_back(tensor::ReductionName(reduction));
    }
    if (parts.raw) what.emplace_back("raw");
    return what;
  }
  static std::vector<std::string> Written(StepPlan &plan, std::string_view tensor) {
    const auto parts = plan.Find(tensor);
    EXPECT_TRUE(parts.IsOk()) << parts.GetStatus().Message();
    return *parts == nullptr ? std::vector<std::string>{"nothing"} : What(**parts);
  }
  static bool Wants(StepPlan &plan, std::string_view tensor) {
    return Written(plan, tensor) != std::vector<std::string>{"nothing"};
  }

  config::CollectionSet collections_;
  PlanDefaults defaults_;
};

// ---- which collections -------------------------------------------------------------------

TEST_F(StepPlanTest, OnlyCollectionsThatAreIncludedAreSaved) {
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_TRUE(Wants(plan, "conv1.weight"));
  EXPECT_FALSE(Wants(plan, "conv1.bias"));
  EXPECT_FALSE(Wants(plan, "something else"));
}

TEST_F(StepPlanTest, SaveAllSavesEveryCollection) {
  defaults_.saves_all = true;
  StepPlan plan = Plan({});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_TRUE(Wants(plan, "conv1.weight"));
  EXPECT_TRUE(Wants(plan, "conv1.bias"));
  EXPECT_FALSE(Wants(plan, "something else")) << "it is in no collection";
}

TEST_F(StepPlanTest, ACollectionMayNameItsTensors) {
  Collection("mine")->AddTensor("this one");
  StepPlan plan = Plan({"mine"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_TRUE(Wants(plan, "this one"));
  EXPECT_FALSE(Wants(plan, "this one too"));
}

TEST_F(StepPlanTest, GradientsAreSavedWhereThereIsTraining) {
  Collection("optimizer_variables")->AddTensor("momentum");
  StepPlan plan = Plan({"gradients", "optimizer_variables", "weights"});
  for (const Mode mode : {Mode::kTrain, Mode::kGlobal}) {
    Begin(plan, mode, 0);
    EXPECT_TRUE(Wants(plan, "gradient/w")) << ModeName(mode);
    EXPECT_TRUE(Wants(plan, "momentum")) << ModeName(mode);
  }
  for (const Mode mode : {Mode::kEval, Mode::kPredict}) {
    Begin(plan, mode, 0);
    EXPECT_FALSE(Wants(plan, "gradient/w")) << ModeName(mode);
    EXPECT_FALSE(Wants(plan, "momentum")) << ModeName(mode);
    EXPECT_TRUE(Wants(plan, "the weight")) << ModeName(mode);
  }
}

TEST_F(StepPlanTest, ACollectionOfTheUsersThatIncludesNothingIsAFault) {
  Collection("mine");
  StepPlan plan = Plan({});
  const Status status = plan.Begin(Mode::kTrain, 0);
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  ASSERT_NE(status.Detail("collection"), nullptr);
  EXPECT_EQ(*status.Detail("collection"), "mine");
  EXPECT_THAT(status.Message(), HasSubstr("'mine' includes nothing"));
  ASSERT_TRUE(Collection("mine")->Include("x").IsOk());
  EXPECT_TRUE(plan.Begin(Mode::kTrain, 0).IsOk()) << "once it is put right, the job goes on";
}

TEST_F(StepPlanTest, AfterTheFirstStepAnEmptyCollectionIsNone) {
  StepPlan plan = Plan({});
  Begin(plan, Mode::kTrain, 0);
  Collection("mine");
  EXPECT_TRUE(plan.Begin(Mode::kTrain, 1).IsOk());
}

// ---- which steps -------------------------------------------------------------------------

TEST_F(StepPlanTest, ACollectionsOwnSaveConfigCountsFirst) {
  config::SaveConfig every_third;
  every_third.SetAll({.interval = 3, .end = {}, .steps = {}});
  Collection("biases")->SetSaveConfig(every_third);
  StepPlan plan = Plan({"weights", "biases"});
  for (int64_t step = 0; step < 7; ++step) {
    Begin(plan, Mode::kTrain, step);
    EXPECT_TRUE(Wants(plan, "weight")) << step;
    EXPECT_EQ(Wants(plan, "bias"), step % 3 == 0) << step;
  }
}

TEST_F(StepPlanTest, ModesItLeavesOpenTakeTheDefault) {
  config::SaveConfig rarely_in_eval;
  const Status set =
      rarely_in_eval.Set(Mode::kEval, {.interval = 100, .start = 1, .end = {}, .steps = {}});
  ASSERT_TRUE(set.IsOk());
  Collection("weights")->SetSaveConfig(rarely_in_eval);
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kEval, 0);
  EXPECT_FALSE(Wants(plan, "weight"));
  Begin(plan, Mode::kEval, 100);
  EXPECT_TRUE(Wants(plan, "weight"));
  Begin(plan, Mode::kTrain, 1);
  EXPECT_TRUE(Wants(plan, "weight"));
}

TEST_F(StepPlanTest, SaysWhetherAnythingIsSavedAtAll) {
  defaults_.save_config.SetAll({.interval = 2, .end = {}, .steps = {}});
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_TRUE(plan.SavesAnything());
  Begin(plan, Mode::kTrain, 1);
  EXPECT_FALSE(plan.SavesAnything());
  EXPECT_FALSE(Wants(plan, "weight"));
}

// ---- what of a tensor --------------------------------------------------------------------

class WhatIsSaved : public StepPlanTest {
 protected:
  static config::ReductionConfig Reductions(std::string_view list) {
    config::ReductionConfig config;
    EXPECT_TRUE(config.AddList(list).IsOk());
    return config;
  }
};

TEST_F(WhatIsSaved, TheTensorItselfByDefault) {
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_THAT(Written(plan, "weight"), ElementsAre("raw"));
}

TEST_F(WhatIsSaved, ReductionsInTheOrderOfTheOriginal) {
  Collection("weights")->SetReductionConfig(Reductions("abs_l2_norm,abs_mean,l1_norm,min,max"));
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_THAT(Written(plan, "weight"), ElementsAre("min", "max", "l1", "abs_mean", "abs_l2"));
}

TEST_F(WhatIsSaved, TheDefaultWhereACollectionHasNoneOfItsOwn) {
  defaults_.reduction_config = Reductions("mean");
  Collection("biases")->SetReductionConfig(Reductions("max"));
  StepPlan plan = Plan({"weights", "biases"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_THAT(Written(plan, "weight"), ElementsAre("mean"));
  EXPECT_THAT(Written(plan, "bias"), ElementsAre("max"));
}

TEST_F(WhatIsSaved, LossesAndMetricsAreAlwaysRaw) {
  defaults_.reduction_config = Reductions("mean");
  ASSERT_TRUE(Collection("metrics")->Include("^accuracy").IsOk());
  Collection("losses")->SetReductionConfig(Reductions("max"));
  StepPlan plan = Plan({"losses", "metrics"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_THAT(Written(plan, "my_loss"), ElementsAre("raw"));
  EXPECT_THAT(Written(plan, "accuracy"), ElementsAre("raw"));
}

TEST_F(WhatIsSaved, TheUnionOfAllCollectionsThatSaveNow) {
  config::ReductionConfig with_shape = Reductions("min,mean");
  with_shape.SetSavesShape(true);
  ASSERT_TRUE(Collection("first")->Include("^w").IsOk());
  Collection("first")->SetReductionConfig(with_shape);
  ASSERT_TRUE(Collection("second")->Include("^w").IsOk());
  config::ReductionConfig with_raw = Reductions("mean,max");
  with_raw.SetSavesRaw(true);
  Collection("second")->SetReductionConfig(with_raw);
  config::SaveConfig even;
  even.SetAll({.interval = 2, .end = {}, .steps = {}});
  Collection("second")->SetSaveConfig(even);
  StepPlan plan = Plan({"first", "second"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_THAT(Written(plan, "w"), ElementsAre("shape", "min", "mean", "max", "raw"));
  Begin(plan, Mode::kTrain, 1);
  EXPECT_THAT(Written(plan, "w"), ElementsAre("shape", "min", "mean"));
}

TEST_F(WhatIsSaved, NothingWhereAConfigAsksForNothing) {
  Collection("weights")->SetReductionConfig(config::ReductionConfig());
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_FALSE(Wants(plan, "weight"));
}

TEST_F(WhatIsSaved, ByHandTheTensorAndNoReductions) {
  config::ReductionConfig both = Reductions("min");
  both.SetSavesRaw(true);
  Collection("both")->SetReductionConfig(both);
  Collection("reduced")->SetReductionConfig(Reductions("min"));
  const StepPlan plan = Plan({});
  EXPECT_THAT(What(plan.FindCustom({Collection("plain")})), ElementsAre("raw"));
  EXPECT_THAT(What(plan.FindCustom({Collection("both")})), ElementsAre("raw"));
  EXPECT_THAT(What(plan.FindCustom({Collection("reduced")})), ElementsAre());
  EXPECT_THAT(What(plan.FindCustom({Collection("reduced"), Collection("both")})),
              ElementsAre("raw"));
}

// ---- changes and memory ------------------------------------------------------------------

TEST_F(StepPlanTest, ChangesCountFromTheNextStepOn) {
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  EXPECT_FALSE(Wants(plan, "late"));
  ASSERT_TRUE(Collection("weights")->Include("^late$").IsOk());
  EXPECT_FALSE(Wants(plan, "late"));
  Begin(plan, Mode::kTrain, 1);
  EXPECT_TRUE(Wants(plan, "late"));
  Collection("weights")->SetReductionConfig(config::ReductionConfig());
  Begin(plan, Mode::kTrain, 2);
  EXPECT_FALSE(Wants(plan, "late"));
}

TEST_F(StepPlanTest, ACollectionListsTheTensorsThatAreSaved) {
  StepPlan plan = Plan({"weights"});
  Begin(plan, Mode::kTrain, 0);
  Wants(plan, "asked.weight");
  for (const char *name : {"b.weight", "a.weight", "bias", "b.weight"}) {
    ASSERT_TRUE(plan.FindToSave(name).IsOk());
  }
  EXPECT_THAT(Collection("weights")->Tensors(), ElementsAre("a.weight", "b.weight"));
}

TEST_F(StepPlanTest, AJobThatInventsNamesDoesNotFillTheMemoryNorConfuseThePlan) {
  Collection("mine")->AddTensor("this one");
  StepPlan plan = Plan({"mine"});
  Begin(plan, Mode::kTrain, 0);
  for (int i = 0; i < 200'010; ++i) {
    const auto parts = plan.Find(std::to_string(i));
    ASSERT_TRUE(parts.IsOk() && *parts == nullptr);
  }
  EXPECT_TRUE(Wants(plan, "this one"));
  EXPECT_FALSE(Wants(plan, "0"));
}

TEST_F(StepPlanTest, AnExpressionThatRunsAwayIsAnErrorEachTime) {
  ASSERT_TRUE(Collection("mine")->Include("(a+)+$").IsOk());
  StepPlan plan = Plan({"mine"});
  Begin(plan, Mode::kTrain, 0);
  const std::string hostile = std::string(40, 'a') + "b";
  EXPECT_EQ(plan.Find(hostile).GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(plan.Find(hostile).GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_TRUE(Wants(plan, "aaa"));
}

}  // namespace
}  // namespace smdebug::record::step_plan_test
