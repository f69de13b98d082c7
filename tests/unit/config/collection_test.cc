#include "config/collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace smdebug::config::collection_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CollectionPtr Parsed(std::string_view json) {
  Result<CollectionPtr> collection = Collection::FromJson(json);
  EXPECT_TRUE(collection.IsOk()) << collection.GetStatus().Message();
  return *std::move(collection);
}

std::string ParseError(std::string_view json) {
  const Status status = Collection::FromJson(json).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << json;
  return status.Message();
}

bool Has(const Collection &collection, std::string_view tensor) {
  const Result<bool> has = collection.Has(tensor);
  EXPECT_TRUE(has.IsOk()) << has.GetStatus().Message();
  return has.IsOk() && *has;
}

TEST(Collection, HasTensorsThatAnExpressionMatches) {
  Collection collection("relu");
  ASSERT_TRUE(collection.Include("relu").IsOk());
  ASSERT_TRUE(collection.Include("^tanh").IsOk());
  EXPECT_TRUE(Has(collection, "net/relu_1"));
  EXPECT_TRUE(Has(collection, "tanh"));
  EXPECT_FALSE(Has(collection, "net/tanh"));
  EXPECT_THAT(collection.Regexes(), ElementsAre("relu", "^tanh"));
}

TEST(Collection, HasTensorsAddedByName) {
  Collection collection("mine");
  collection.AddTensor("b");
  collection.AddTensor("a");
  EXPECT_TRUE(Has(collection, "a"));
  EXPECT_FALSE(Has(collection, "ab"));
  EXPECT_THAT(collection.Tensors(), ElementsAre("a", "b"));
  collection.RemoveTensor("a");
  EXPECT_FALSE(Has(collection, "a"));
}

TEST(Collection, IsEmptyUntilSomethingIsIncluded) {
  Collection collection("mine");
  EXPECT_TRUE(collection.IsEmpty());
  EXPECT_FALSE(Has(collection, "a"));
  collection.AddTensor("a");
  EXPECT_FALSE(collection.IsEmpty());
  collection.RemoveTensor("a");
  EXPECT_TRUE(collection.IsEmpty());
  ASSERT_TRUE(collection.Include("x").IsOk());
  EXPECT_FALSE(collection.IsEmpty());
}

TEST(Collection, RefusesAnExpressionThatDoesNotCompile) {
  Collection collection("mine");
  const Status status = collection.Include("a(");
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("'a('"));
  EXPECT_TRUE(collection.IsEmpty());
  EXPECT_EQ(collection.Version(), 0U);
}

TEST(Collection, ReportsAnExpressionThatTakesTooLong) {
  Collection collection("mine");
  ASSERT_TRUE(collection.Include("(a+)+$").IsOk());
  const Result<bool> has = collection.Has(std::string(40, 'a') + "b");
  EXPECT_EQ(has.GetStatus().GetCode(), Code::kInvalidConfig);
}

TEST(Collection, VersionGrowsWithChangesThatAffectSaving) {
  Collection collection("mine");
  uint64_t last = collection.Version();
  const auto has_grown = [&] { return std::exchange(last, collection.Version()) < last; };
  const auto changes = [&](auto change) {
    change();
    return has_grown();
  };
  EXPECT_TRUE(changes([&] { (void)collection.Include("a"); }));
  EXPECT_TRUE(changes([&] { collection.AddTensor("t"); }));
  EXPECT_TRUE(changes([&] { collection.RemoveTensor("t"); }));
  EXPECT_TRUE(changes([&] { collection.SetSaveConfig(SaveConfig()); }));
  EXPECT_TRUE(changes([&] { collection.SetReductionConfig(ReductionConfig::Raw()); }));
  EXPECT_TRUE(changes([&] { collection.SetSavesHistogram(false); }));
  EXPECT_FALSE(changes([&] { (void)collection.Include("a"); })) << "known";
  EXPECT_FALSE(changes([&] { collection.NoteMatch("abc"); }));
  EXPECT_FALSE(changes([&] { collection.AddTensor("abc"); })) << "noted before";
  EXPECT_FALSE(changes([&] { collection.RemoveTensor("never added"); }));
}

TEST(Collection, KeepsItsOwnSettings) {
  Collection collection("mine");
  EXPECT_EQ(collection.GetSaveConfig(), std::nullopt);
  EXPECT_EQ(collection.GetReductionConfig(), std::nullopt);
  EXPECT_TRUE(collection.SavesHistogram());
  collection.SetReductionConfig(ReductionConfig::Raw());
  collection.SetSaveConfig(SaveConfig());
  collection.SetSavesHistogram(false);
  EXPECT_EQ(collection.GetReductionConfig(), ReductionConfig::Raw());
  EXPECT_EQ(collection.GetSaveConfig(), SaveConfig());
  EXPECT_FALSE(collection.SavesHistogram());
  collection.SetSaveConfig({});
  EXPECT_EQ(collection.GetSaveConfig(), std::nullopt);
}

// The expected texts are those that the original prints for the same settings.
TEST(Collection, JsonMatchesTheOriginal) {
  EXPECT_EQ(Collection("x").ToJson(),
            R"({"name": "x", "include_regex": [], "tensor_names": [], "reduction_config": null, )"
            R"("save_config": null, "save_histogram": true})");
  Collection collection("weights");
  ASSERT_TRUE(collection.Include("a.*").IsOk());
  ASSERT_TRUE(collection.Include("é\"\\\\").IsOk());
  collection.AddTensor("z");
  collection.NoteMatch("b");
  collection.SetReductionConfig(ReductionConfig::Raw());
  SaveConfig saves;
  ASSERT_TRUE(saves.Set(Mode::kTrain, {.interval = 2, .end = {}, .steps = {}}).IsOk());
  collection.SetSaveConfig(saves);
  collection.SetSavesHistogram(false);
  EXPECT_EQ(collection.ToJson(),
            R"({"name": "weights", "include_regex": ["a.*", "\u00e9\"\\\\"], )"
            R"("tensor_names": ["b", "z"], "reduction_config": {"save_raw_tensor": true, )"
            R"("reductions": "", "save_shape": false}, "save_config": {"TRAIN": )"
            R"({"save_interval": 2, "save_steps": [], "start_step": 0, "end_step": null}, )"
            R"("EVAL": null, "PREDICT": null, "GLOBAL": null}, "save_histogram": false})");
  EXPECT_EQ(Parsed(collection.ToJson())->ToJson(), collection.ToJson());
}

TEST(Collection, InJsonEveryKeyButTheNameMayBeMissing) {
  const CollectionPtr collection = Parsed(R"({"name": "x", "later": [{}]})");
  EXPECT_EQ(collection->Name(), "x");
  EXPECT_THAT(collection->Regexes(), IsEmpty());
  EXPECT_TRUE(collection->SavesHistogram());
  EXPECT_EQ(collection->GetSaveConfig(), std::nullopt);
  EXPECT_EQ(collection->Version(), 0U);
}

TEST(Collection, InJsonFalseAndNullMeanNoExpressions) {
  EXPECT_TRUE(Parsed(R"({"name": "x", "include_regex": false})")->IsEmpty());
  EXPECT_TRUE(Parsed(R"({"name": "x", "include_regex": null, "tensor_names": null})")->IsEmpty());
}

TEST(Collection, InJsonAnExpressionGivenTwiceCountsOnce) {
  EXPECT_THAT(Parsed(R"({"name": "x", "include_regex": ["a", "b", "a"]})")->Regexes(),
              ElementsAre("a", "b"));
}

TEST(Collection, JsonErrorsContainThePlace) {
  EXPECT_EQ(ParseError("[]"), "the document: expected an object, found a list");
  EXPECT_EQ(ParseError("{}"), "the document: the name is missing");
  EXPECT_EQ(ParseError(R"({"name": ""})"), "the document: the name is empty");
  EXPECT_EQ(ParseError(R"({"name": 5})"), "name: expected text, found a number");
  EXPECT_EQ(ParseError(R"({"name": "x", "include_regex": "a"})"),
            "include_regex: expected a list of texts, found text");
  EXPECT_EQ(ParseError(R"({"name": "x", "include_regex": true})"),
            "include_regex: expected a list of texts, found true");
  EXPECT_EQ(ParseError(R"({"name": "x", "tensor_names": ["a", 5]})"),
            "tensor_names[1]: expected text, found a number");
  EXPECT_EQ(ParseError(R"({"name": "x", "save_config": []})"),
            "save_config: expected an object, found a list");
  EXPECT_EQ(ParseError(R"({"name": "x", "reduction_config": "min"})"),
            "reduction_config: expected an object, found text");
  EXPECT_THAT(ParseError(R"({"name": "x", "include_regex": ["a("]})"), HasSubstr("'a('"));
}

TEST(Collection, InAFileMayHaveAnExpressionThatDoesNotCompile) {
  const Result<JsonDocument> document =
      JsonDocument::Parse(R"({"name": "x", "include_regex": ["a("], "tensor_names": ["t"]})");
  ASSERT_TRUE(document.IsOk());
  const Result<CollectionPtr> collection = Collection::FromJson(document->Root(), Origin::kFile);
  ASSERT_TRUE(collection.IsOk()) << collection.GetStatus().Message();
  EXPECT_TRUE(Has(**collection, "t"));
  EXPECT_EQ((*collection)->Has("u").GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_THAT((*collection)->Regexes(), ElementsAre("a("));
}

TEST(Collection, MayBeUsedFromManyThreads) {
  Collection collection("mine");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&collection, i] {
      for (int j = 0; j < 50; ++j) {
        const std::string name = "t" + std::to_string(i) + "_" + std::to_string(j);
        (void)collection.Include("^" + name);
        collection.NoteMatch(name);
        EXPECT_TRUE(Has(collection, name + "x"));
        collection.SetReductionConfig(ReductionConfig::Raw());
        (void)collection.ToJson();
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(collection.Regexes().size(), 200U);
  EXPECT_EQ(collection.Tensors().size(), 200U);
  EXPECT_EQ(collection.Version(), 400U);
}

}  // namespace
}  // namespace smdebug::config::collection_test
