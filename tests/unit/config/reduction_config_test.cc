#include "config/reduction_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smdebug::config::reduction_config_test {
namespace {

using tensor::Reduction;
using tensor::ReductionKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ReductionConfig Listing(std::string_view names) {
  ReductionConfig config;
  const Status status = config.AddList(names);
  EXPECT_TRUE(status.IsOk()) << status.Message();
  return config;
}

std::string ListError(std::string_view names) {
  ReductionConfig config;
  const Status status = config.AddList(names);
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << names;
  EXPECT_THAT(config.Reductions(), IsEmpty()) << "nothing is added";
  return status.Message();
}

ReductionConfig Parsed(std::string_view json) {
  const Result<ReductionConfig> config = ReductionConfig::FromJson(json);
  EXPECT_TRUE(config.IsOk()) << config.GetStatus().Message();
  return *config;
}

std::string ParseError(std::string_view json) {
  const Status status = ReductionConfig::FromJson(json).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << json;
  return status.Message();
}

TEST(ReductionConfig, SavesNothingInitially) {
  const ReductionConfig config;
  EXPECT_THAT(config.Reductions(), IsEmpty());
  EXPECT_FALSE(config.SavesRaw());
  EXPECT_FALSE(config.SavesShape());
}

TEST(ReductionConfig, RawSavesOnlyTheTensor) {
  EXPECT_TRUE(ReductionConfig::Raw().SavesRaw());
  EXPECT_FALSE(ReductionConfig::Raw().SavesShape());
  EXPECT_THAT(ReductionConfig::Raw().Reductions(), IsEmpty());
}

TEST(ReductionConfig, AddsEachReductionOnce) {
  ReductionConfig config = Listing("max, min,max");
  config.Add({ReductionKind::kMax, true});
  config.Add({ReductionKind::kMin, false});
  EXPECT_THAT(config.Reductions(), ElementsAre(Reduction{ReductionKind::kMax, false},
                                               Reduction{ReductionKind::kMin, false},
                                               Reduction{ReductionKind::kMax, true}));
}

TEST(ReductionConfig, AcceptsEveryDocumentedName) {
  const ReductionConfig config = Listing(
      "min,max,median,mean,std,variance,sum,prod,l1,l2,"
      "abs_min,abs_max,abs_median,abs_mean,abs_std,abs_variance,abs_sum,abs_prod,abs_l1,abs_l2");
  EXPECT_EQ(config.Reductions().size(), tensor::kReductions);
  EXPECT_EQ(Listing("l1,abs_l2"), Listing("l1_norm,abs_l2_norm"));
  EXPECT_EQ(Listing(" , "), ReductionConfig());
}

TEST(ReductionConfig, SuggestsTheNearestReduction) {
  EXPECT_EQ(ListError("min,abs_meen"), "'abs_meen' is not a reduction; did you mean 'abs_mean'?");
  EXPECT_EQ(ListError("l1_nrm"), "'l1_nrm' is not a reduction; did you mean 'l1_norm'?");
  EXPECT_THAT(ListError("percentile"), HasSubstr("use min, max, median"));
  EXPECT_LT(ListError(std::string(100'000, 'x')).size(), 400U);
}

TEST(ReductionConfig, IsEqualInAnyOrder) {
  EXPECT_EQ(Listing("min,max"), Listing("max,min"));
  EXPECT_NE(Listing("min"), Listing("abs_min"));
  EXPECT_NE(ReductionConfig(), ReductionConfig::Raw());
}

TEST(ReductionConfig, ListsInTheOriginalsOrder) {
  EXPECT_EQ(Listing("abs_l1,abs_mean,l2,std,abs_max,l1,min").List(),
            "std,min,l2_norm,l1_norm,abs_mean,abs_max,abs_l1_norm");
  EXPECT_EQ(Listing("min,median").List(), "min,median");
}

// The expected texts are those that the original prints for the same settings.
TEST(ReductionConfig, JsonMatchesTheOriginal) {
  EXPECT_EQ(ReductionConfig().ToJson(),
            R"({"save_raw_tensor": false, "reductions": "", "save_shape": false})");
  ReductionConfig config = Listing("std,min,l2,l1,abs_mean,abs_max,abs_l1");
  config.SetSavesRaw(true);
  config.SetSavesShape(true);
  EXPECT_EQ(config.ToJson(),
            R"({"save_raw_tensor": true, )"
            R"("reductions": "std,min,l2_norm,l1_norm,abs_mean,abs_max,abs_l1_norm", )"
            R"("save_shape": true})");
}

TEST(ReductionConfig, MediansAreInAKeyThatTheOriginalIgnores) {
  const ReductionConfig config = Listing("min,median,abs_median");
  EXPECT_EQ(config.ToJson(),
            R"({"save_raw_tensor": false, "reductions": "min", "save_shape": false, )"
            R"("extra_reductions": "median,abs_median"})");
  EXPECT_EQ(Parsed(config.ToJson()), config);
  EXPECT_EQ(Parsed(R"({"reductions": "min,median,abs_median"})"), config);
}

TEST(ReductionConfig, JsonRoundTrips) {
  ReductionConfig config = Listing("abs_l2,prod");
  config.SetSavesShape(true);
  EXPECT_EQ(Parsed(config.ToJson()), config);
}

TEST(ReductionConfig, InJsonEveryKeyMayBeMissing) {
  EXPECT_EQ(Parsed("{}"), ReductionConfig());
  EXPECT_EQ(Parsed(R"({"reductions": null, "save_shape": null})"), ReductionConfig());
  EXPECT_EQ(Parsed(R"({"save_raw_tensor": true, "later": {}})"), ReductionConfig::Raw());
}

TEST(ReductionConfig, InJsonSwitchesMayBeTexts) {
  EXPECT_EQ(Parsed(R"({"save_raw_tensor": "True", "save_shape": "FALSE"})"),
            ReductionConfig::Raw());
}

TEST(ReductionConfig, JsonErrorsContainTheSetting) {
  EXPECT_EQ(ParseError(R"({"reductions": "mn"})"),
            "reductions: 'mn' is not a reduction; did you mean 'min'?");
  EXPECT_EQ(ParseError(R"({"reductions": ["min"]})"), "reductions: expected text, found a list");
  EXPECT_EQ(ParseError(R"({"save_raw_tensor": "yes"})"),
            "save_raw_tensor: expected true or false, found 'yes'");
  EXPECT_EQ(ParseError(R"({"save_shape": 1})"),
            "save_shape: expected true or false, found a number");
  EXPECT_EQ(ParseError("null"), "the document: expected an object, found null");
}

TEST(ReductionConfig, InAFileMayHaveUnknownReductions) {
  const Result<JsonDocument> document = JsonDocument::Parse(R"({"reductions": "min,quantile"})");
  ASSERT_TRUE(document.IsOk());
  EXPECT_FALSE(ReductionConfig::FromJson(document->Root()).IsOk());
  const Result<ReductionConfig> config = ReductionConfig::FromJson(document->Root(), Origin::kFile);
  ASSERT_TRUE(config.IsOk());
  EXPECT_EQ(*config, Listing("min"));
}

}  // namespace
}  // namespace smdebug::config::reduction_config_test
