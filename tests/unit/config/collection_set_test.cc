#include "config/collection_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/collection_names.h"

namespace smdebug::config::collection_set_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::string_view kPath = "collections/000000000/worker_0_collections.json";

std::vector<std::string> Names(const std::vector<CollectionPtr> &collections) {
  std::vector<std::string> names;
  for (const CollectionPtr &collection : collections) names.push_back(collection->Name());
  return names;
}

CollectionPtr Named(std::string name) { return std::make_shared<Collection>(std::move(name)); }

CollectionsFile Read(std::string_view text) {
  Result<CollectionsFile> file = CollectionsFromJson(text, kPath);
  EXPECT_TRUE(file.IsOk()) << file.GetStatus().Message();
  return file.IsOk() ? *std::move(file) : CollectionsFile();
}

std::string ReadError(std::string_view text) {
  const Status status = CollectionsFromJson(text, kPath).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData) << text;
  EXPECT_THAT(status.Message(), StartsWith(std::string(kPath) + ": "));
  return status.IsOk() ? "" : status.Message().substr(kPath.size() + 2);
}

TEST(CollectionSet, DefaultsFitCommonTensorNames) {
  const std::vector<CollectionPtr> defaults = CollectionSet::Defaults();
  EXPECT_THAT(Names(defaults),
              ElementsAre("all", "default", "weights", "biases", "gradients", "losses"));
  EXPECT_THAT(defaults[0]->Regexes(), IsEmpty());
  EXPECT_THAT(defaults[1]->Regexes(), IsEmpty());
  EXPECT_THAT(defaults[2]->Regexes(), ElementsAre("^(?!gradient).*weight"));
  EXPECT_THAT(defaults[3]->Regexes(), ElementsAre("^(?!gradient).*bias"));
  EXPECT_THAT(defaults[4]->Regexes(), ElementsAre("^gradient"));
  EXPECT_THAT(defaults[5]->Regexes(), ElementsAre("[Ll]oss"));
}

TEST(CollectionSet, KeepsTheOrderOfCreation) {
  CollectionSet set;
  set.Add(Named("b"));
  set.Add(Named("a"));
  EXPECT_THAT(Names(set.List()), ElementsAre("b", "a"));
}

TEST(CollectionSet, AddReplacesACollectionInPlace) {
  CollectionSet set;
  set.Add(Named("b"));
  set.Add(Named("a"));
  const CollectionPtr other = Named("b");
  set.Add(other);
  EXPECT_THAT(Names(set.List()), ElementsAre("b", "a"));
  EXPECT_EQ(set.Find("b"), other);
}

TEST(CollectionSet, FindsByName) {
  CollectionSet set;
  EXPECT_EQ(set.Find("a"), nullptr);
  const CollectionPtr made = set.GetOrCreate("a");
  EXPECT_EQ(made->Name(), "a");
  EXPECT_EQ(set.Find("a"), made);
  EXPECT_EQ(set.GetOrCreate("a"), made);
  EXPECT_THAT(Names(set.List()), ElementsAre("a"));
}

TEST(CollectionSet, ItsExpressionsShareABudget) {
  CollectionSet set;
  const std::string text = std::string(60, 'a') + "cb";
  Status status;
  int number = 0;
  for (; status.IsOk() && number < 100'000; ++number) {
    const CollectionPtr collection = set.GetOrCreate(std::to_string(number % 10));
    if (number < 10) {
      ASSERT_TRUE(collection->Include("(?:a|aa){12}c$").IsOk());
    }
    status = collection->Has(std::to_string(number) + text).GetStatus();
  }
  EXPECT_GT(number, 10);
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  for (const CollectionPtr &collection : set.List()) {
    EXPECT_FALSE(collection->Has("x" + text).IsOk()) << "whichever used it up";
    EXPECT_TRUE(collection->Has("aac").IsOk());
  }
}

TEST(CollectionSet, VersionChangesWithEveryChange) {
  CollectionSet set;
  uint64_t last = set.Version();
  const auto has_changed = [&] { return std::exchange(last, set.Version()) != last; };
  const CollectionPtr collection = set.GetOrCreate("a");
  EXPECT_TRUE(has_changed());
  collection->AddTensor("t");
  EXPECT_TRUE(has_changed());
  set.Add(Named("a"));
  EXPECT_TRUE(has_changed()) << "replaced by one with a lower version";
  (void)set.GetOrCreate("a");
  collection->AddTensor("u");
  EXPECT_FALSE(has_changed()) << "no longer in the set";
}

// The expected text is what the original writes for the same collection.
TEST(CollectionsFile, TextMatchesTheOriginal) {
  const CollectionPtr collection = Named("x");
  ASSERT_TRUE(collection->Include("foo").IsOk());
  EXPECT_EQ(CollectionsToJson({collection}, 2),
            R"({"collections": {"x": {"name": "x", "include_regex": ["foo"], "tensor_names": [], )"
            R"("reduction_config": null, "save_config": null, "save_histogram": true}}, )"
            R"("_meta": {"num_workers": 2}})");
  EXPECT_EQ(CollectionsToJson({}, 1), R"({"collections": {}, "_meta": {"num_workers": 1}})");
}

TEST(CollectionsFile, TextRoundTrips) {
  std::vector<CollectionPtr> collections = CollectionSet::Defaults();
  collections[2]->NoteMatch("conv1/weight");
  collections[3]->SetReductionConfig(ReductionConfig::Raw());
  collections[4]->SetSaveConfig(SaveConfig());
  const std::string text = CollectionsToJson(collections, 8);
  const CollectionsFile file = Read(text);
  EXPECT_EQ(file.num_workers, 8);
  EXPECT_EQ(CollectionsToJson(file.collections, file.num_workers), text);
}

TEST(CollectionsFile, UnknownKeysOfCollectionsAreIgnored) {
  const CollectionsFile file = Read(
      R"({"collections": {"a": {"name": "a", "later": 1}}, "_meta": {"num_workers": 1, "x": 2}})");
  EXPECT_THAT(Names(file.collections), ElementsAre("a"));
}

TEST(CollectionsFile, TheNameInsideCountsAndTheLastOfAName) {
  const CollectionsFile file =
      Read(R"({"collections": {"a": {"name": "b"}, "c": {"name": "b", "tensor_names": ["t"]}},)"
           R"( "_meta": {"num_workers": "3"}})");
  ASSERT_THAT(Names(file.collections), ElementsAre("b"));
  EXPECT_THAT(file.collections[0]->Tensors(), ElementsAre("t"));
  EXPECT_EQ(file.num_workers, 3) << "a text of digits, as the original takes it";
}

TEST(CollectionsFile, ReadsSettingsThatUsersMayNotWrite) {
  const CollectionsFile file =
      Read(R"({"collections": {"a": {"name": "a", "include_regex": ["("], "save_config": )"
           R"({"TRAIN": {"end_step": 0, "save_steps": [3]}}}}, "_meta": {"num_workers": 1}})");
  EXPECT_TRUE(file.collections[0]->GetSaveConfig()->Wants(Mode::kTrain, 3));
}

TEST(CollectionsFile, ErrorsContainPathAndPlace) {
  EXPECT_EQ(ReadError("[]"), "the document: expected an object, found a list");
  EXPECT_EQ(ReadError(R"({"a": {}, "_meta": {"num_workers": 1}})"), "unknown key 'a'");
  EXPECT_EQ(ReadError(R"({"colections": {}})"),
            "unknown key 'colections'; did you mean 'collections'?");
  EXPECT_EQ(ReadError(R"({"_meta": {"num_workers": 1}})"),
            "the document: 'collections' is missing");
  EXPECT_EQ(ReadError(R"({"collections": {}})"), "the document: '_meta' is missing");
  EXPECT_EQ(ReadError(R"({"collections": {}, "_meta": {}})"), "_meta: 'num_workers' is missing");
  EXPECT_EQ(ReadError(R"({"collections": {}, "_meta": {"num_workers": 0}})"),
            "_meta.num_workers is 0; it must be 1 or more");
  EXPECT_EQ(ReadError(R"({"collections": {"a": {"name": 5}}, "_meta": {"num_workers": 1}})"),
            "collections.a.name: expected text, found a number");
  EXPECT_THAT(ReadError("{\"collections\": "), HasSubstr("not valid JSON"));
}

TEST(CollectionsFile, HostileTextIsCorrupt) {
  const std::string meta = R"(, "_meta": {"num_workers": 1}})";
  for (const std::string &text :
       {std::string(),
        std::string("null"),
        std::string("5"),
        std::string("\"collections\""),
        std::string(1000, '['),
        std::string("\0\0\0\0", 4),
        std::string("\xff\xfe{\0}\0", 6),
        R"({"collections": null)" + meta,
        R"({"collections": [])" + meta,
        R"({"collections": 1)" + meta,
        R"({"collections": {"a": null})" + meta,
        R"({"collections": {"a": []})" + meta,
        R"({"collections": {"a": {}})" + meta,
        R"({"collections": {"a": {"name": null}})" + meta,
        R"({"collections": {"a": {"name": "a\u0000b"}})" + meta,
        R"({"collections": {"a": {"name": "a", "tensor_names": {}}})" + meta,
        R"({"collections": {"a": {"name": "a", "tensor_names": [[]]}})" + meta,
        R"({"collections": {"a": {"name": "a", "include_regex": [null]}})" + meta,
        R"({"collections": {"a": {"name": "a", "save_config": {"TRAIN": 1}}})" + meta,
        R"({"collections": {"a": {"name": "a", "save_config": {"TRAIN": {"end_step": {}}}}})" +
            meta,
        R"({"collections": {"a": {"name": "a", "save_config": {"TRAIN": {"save_steps": 1}}}})" +
            meta,
        R"({"collections": {"a": {"name": "a", "reduction_config": {"reductions": 1}}})" + meta,
        R"({"collections": {"a": {"name": "a", "reduction_config": {"save_shape": []}}})" + meta,
        R"({"collections": {"a": {"name": "a", "save_histogram": "maybe"}})" + meta,
        std::string(R"({"collections": {}, "_meta": null})"),
        std::string(R"({"collections": {}, "_meta": {"num_workers": null}})"),
        std::string(R"({"collections": {}, "_meta": {"num_workers": 1e30}})"),
        std::string(R"({"collections": {}, "_meta": {"num_workers": 1.5}})"),
        std::string(R"({"collections": {}, "_meta": {"num_workers": "two"}})")}) {
    EXPECT_NE(ReadError(text), "") << text;
  }
}

}  // namespace
}  // namespace smdebug::config::collection_set_test
