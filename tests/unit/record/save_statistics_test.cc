#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/strings.h"
#include "record/hook_fixture.h"
#include "rules/registry.h"
#include "tensor/given_statistics.h"

namespace smdebug::record::save_statistics_test {
namespace {

using enum tensor::ReductionKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class SaveStatisticsTest : public HookFixture {
 protected:
  SaveStatisticsTest() {
    options_.saves_all = true;
    options_.reduction_config = config::ReductionConfig();
    Expect(options_.reduction_config.AddList("min,max,mean,std,variance,sum,l1,l2,abs_max"));
    options_.reduction_config.SetSavesShape(true);
  }

  static tensor::GivenStatistics GivenOf(const tensor::View &view) {
    tensor::GivenStatistics given;
    given.form = view;
    given.form.data = nullptr;
    const tensor::Statistics statistics = *tensor::ComputeStatistics(view);
    given.Figure({kMin, false}) = statistics.plain.min;
    given.Figure({kMax, false}) = statistics.plain.max;
    given.Figure({kMean, false}) = statistics.plain.mean;
    given.Figure({kMean, true}) = statistics.absolute.mean;
    given.Figure({kVariance, false}) = statistics.plain.variance;
    given.Figure({kSum, false}) = statistics.plain.sum;
    given.Figure({kL1, false}) = statistics.l1;
    given.Figure({kL2, false}) = statistics.l2;
    given.counts = {statistics.nan_count, statistics.inf_count, statistics.zero_count};
    given.Derive();
    return given;
  }
  // Records one step with one tensor, in a trial of its own.
  template <class SaveIt>
  std::map<std::string, std::string> FilesAfter(SaveIt save_it) {
    hook_.reset();
    options_.store = store_ = std::make_shared<storage::MemoryStore>();
    Begin();
    save_it();
    End();
    Close();
    return store_->Files();
  }
  using Rules = std::vector<std::pair<const char *, rules::Parameters::Given>>;
  void Attach(const Rules &rules) {
    auto set = std::make_shared<rules::RuleSet>();
    for (const auto &[rule, given] : rules) {
      auto factory = rules::BuiltinRule(rule, given, rules::Profile::kAws);
      Expect(factory.GetStatus());
      Expect(set->Add(*std::move(factory), rules::Action::kWarn));
    }
    jobs_.push_back(std::make_shared<int>());
    Expect(TheHook().Attach(*rules::Evaluation::Begin(set, jobs_.back())));
  }
  std::vector<std::shared_ptr<int>> jobs_;
};

TEST_F(SaveStatisticsTest, RecordsWhatTheElementsWouldHave) {
  const Floats weight({2, 3}, {1, -2, 0, 4, 0.5F, -8});
  const auto computed = FilesAfter([&] { Save("w", weight); });
  const auto given = FilesAfter([&] { Expect(TheHook().SaveStatistics("w", GivenOf(weight))); });
  EXPECT_EQ(given, computed);
  EXPECT_THAT(At(0).names, SizeIs(9));
  EXPECT_THAT(At(0).index.shapes, SizeIs(1));
}

TEST_F(SaveStatisticsTest, RefusesARawValue) {
  options_.reduction_config.SetSavesRaw(true);
  Begin();
  const Status status = TheHook().SaveStatistics("w", GivenOf(Floats({1})));
  EXPECT_EQ(status.GetCode(), Code::kUnsupported);
  EXPECT_THAT(status.Message(), HasSubstr("smd_hook_save()"));
  End();
  Flush();
  EXPECT_THAT(At(0).names, IsEmpty());
}

TEST_F(SaveStatisticsTest, NamesTheReductionThatIsMissing) {
  const Floats weight({1, 2});
  tensor::GivenStatistics given = GivenOf(weight);
  given.Figure({kMean, false}).reset();
  Begin();
  const Status status = TheHook().SaveStatistics("w", given);
  EXPECT_EQ(status.GetCode(), Code::kInvalidArgument);
  ASSERT_NE(status.Detail("reduction"), nullptr);
  EXPECT_EQ(*status.Detail("reduction"), "mean");
}

TEST_F(SaveStatisticsTest, NeedsNoExtremesOfNoElements) {
  const std::vector<int64_t> shape = {0};
  tensor::GivenStatistics given;
  given.form = {nullptr, shape, {}, tensor::DType::kFloat32};
  given.Figure({kSum, false}) = 0;
  Begin();
  Expect(TheHook().SaveStatistics("w", given));
  End();
  Flush();
  EXPECT_EQ(At(0).names, std::vector<std::string>{"smdebug/reductions/sum/w"});
}

TEST_F(SaveStatisticsTest, NeedsAStep) {
  const Status status = TheHook().SaveStatistics("w", GivenOf(Floats({1})));
  EXPECT_EQ(status.GetCode(), Code::kWrongState);
}

// The findings of attached rules, as text.
TEST_F(SaveStatisticsTest, GivesAttachedRulesTheSameFindings) {
  const Floats tiny({2, 2}, {1e-9F, -1e-9F, 0, 1e-9F});
  const Floats broken({2, 2}, {1, NAN, INFINITY, 0});
  const Floats zero({2, 2}, {0, 0, 0, 0});
  const std::vector<std::pair<std::string, const Floats *>> tensors = {
      {"gradient/a.weight", &tiny}, {"b.weight", &broken}, {"c.weight", &zero}};
  const auto findings = [&](bool is_given) {
    std::vector<std::string> found;
    FilesAfter([&] {
      End();
      Attach({{"VanishingGradient", {}},
              {"ExplodingTensor", {}},
              {"AllZero", {{"tensor_regex", "weight$"}}},
              {"TensorVariance", {{"tensor_regex", "weight$"}, {"max_threshold", "100"}}}});
      for (int step = 0; step < 3; ++step) {
        Begin();
        for (const auto &[name, floats] : tensors) {
          if (is_given) {
            Expect(TheHook().SaveStatistics(name, GivenOf(*floats)));
          } else {
            Save(name, *floats);
          }
        }
        if (step < 2) End();
      }
    });
    for (const rules::Finding &finding : TheHook().TakeFindings()) {
      found.push_back(StrCat(finding.place.step, " ", finding.rule, ": ", finding.message));
    }
    return found;
  };
  const std::vector<std::string> expected = findings(false);
  EXPECT_THAT(expected, Not(IsEmpty()));
  EXPECT_EQ(findings(true), expected);
}

// A sample of all elements is as good as the tensor.
TEST_F(SaveStatisticsTest, GivesAttachedRulesTheElementsOfAWholeSample) {
  const Floats weight({2, 2}, {1, 2, 3, 4});
  const std::vector<int64_t> count = {4};
  Attach({{"UnchangedTensor", {{"tensor_regex", "^w$"}}}});
  for (int step = 0; step < 6; ++step) {
    Begin();
    tensor::GivenStatistics given = GivenOf(weight);
    given.sample = tensor::View{weight.Numbers().data(), count, {}, tensor::DType::kFloat32};
    Expect(TheHook().SaveStatistics("w", given));
    End();
  }
  EXPECT_THAT(TheHook().TakeFindings(), Not(IsEmpty()));
}

}  // namespace
}  // namespace smdebug::record::save_statistics_test
