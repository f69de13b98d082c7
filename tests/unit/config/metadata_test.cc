#include "config/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/collection_set.h"

namespace smdebug::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Metadata, IsInACollectionsFile) {
  const Metadata metadata = {{"rate", "0.1"}, {"naïve", "\"a\"\n"}};
  const std::string text = CollectionsToJson({}, 1, {}, metadata);
  EXPECT_THAT(text, HasSubstr(R"("_meta": {"num_workers": 1, "metadata": {)"));
  const auto read = CollectionsFromJson(text, "c");
  ASSERT_TRUE(read.IsOk()) << read.GetStatus().Message();
  EXPECT_EQ(read->metadata, metadata);
}

TEST(Metadata, OtherThingsInItsPlaceAreIgnoredOrCorrupt) {
  const auto read = [](const std::string &metadata) {
    return CollectionsFromJson(
        R"({"collections": {}, "_meta": {"num_workers": 1, "metadata": )" + metadata + "}}", "c");
  };
  EXPECT_THAT(read("null")->metadata, IsEmpty());
  EXPECT_THAT(read(R"({"a": 1, "b": "x", "c": null, "d": {}})")->metadata,
              ElementsAre(Pair("b", "x")));
  for (const char *text : {"[]", "1", "\"x\""}) {
    EXPECT_EQ(read(text).GetStatus().GetCode(), Code::kCorruptData) << text;
  }
}

TEST(MetadataSet, KeepsTheLastValueOfAKey) {
  MetadataSet set;
  ASSERT_TRUE(set.Set("a", "1").IsOk());
  const uint64_t version = set.Version();
  ASSERT_TRUE(set.Set("a", "1").IsOk());
  EXPECT_EQ(set.Version(), version) << "nothing changed";
  ASSERT_TRUE(set.Set("a", "").IsOk());
  EXPECT_GT(set.Version(), version);
  EXPECT_THAT(set.List(), ElementsAre(Pair("a", "")));
}

TEST(MetadataSet, HasLimits) {
  MetadataSet set;
  const auto message = [&](std::string_view key, std::string_view value) {
    const Status status = set.Set(key, value);
    EXPECT_EQ(status.GetCode(), Code::kInvalidArgument);
    return status.Message();
  };
  EXPECT_THAT(message("", "x"), HasSubstr("empty"));
  EXPECT_THAT(message("a\nb", "x"), HasSubstr("control characters: a?b"));
  EXPECT_THAT(message("\xff", "x"), HasSubstr("not UTF-8"));
  EXPECT_THAT(message("a", "\xff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(message(std::string(257, 'k'), "x"), HasSubstr("at most 256"));
  EXPECT_THAT(message("a", std::string(65537, 'v')), HasSubstr("at most 65536"));
  for (size_t i = 0; i < MetadataSet::kMostKeys; ++i) {
    ASSERT_TRUE(set.Set(std::to_string(i), std::string(65536, 'v')).IsOk());
  }
  EXPECT_THAT(message("one more", "x"), HasSubstr("1000 keys already"));
  EXPECT_TRUE(set.Set("0", "another value").IsOk());
}

}  // namespace
}  // namespace smdebug::config
