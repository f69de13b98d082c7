// Placements, and their form in collections files.
#include "config/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/collection_set.h"

namespace smdebug::config::placement_test {
namespace {

using testing::HasSubstr;

Placement Block(std::vector<int64_t> shape, std::vector<int64_t> offset,
                std::vector<int64_t> part) {
  return {std::move(shape), std::move(offset), std::move(part), false, {}, {}};
}

TEST(Placement, IsCheckedToBeInsideTheWhole) {
  EXPECT_TRUE(Block({9, 6}, {5, 0}, {4, 6}).Check().IsOk());
  EXPECT_TRUE(Block({}, {}, {}).Check().IsOk());
  EXPECT_TRUE(Block({1}, {1}, {0}).Check().IsOk()) << "an empty part behind the end";
  EXPECT_TRUE((Placement{{9, 6}, {50}, {4}, true, {}, {}}).Check().IsOk());
  EXPECT_TRUE((Placement{{9, 6}, {0, 0}, {9, 6}, false, {2, 2}, {-1, 1}}).Check().IsOk());
  const int64_t huge = INT64_MAX;
  const std::vector<Placement> wrong = {
      Block({9, 6}, {5, 0}, {5, 6}),
      Block({9, 6}, {-1, 0}, {5, 6}),
      Block({9, 6}, {0, 0}, {-5, 6}),
      Block({9, 6}, {0}, {9}),
      Block({9, 6}, {huge, 0}, {1, 6}),
      Block({huge}, {0}, {1}),
      Block({1 << 30, 1 << 30, 1 << 30}, {0, 0, 0}, {1, 1, 1}),
      Block(std::vector<int64_t>(33, 1), std::vector<int64_t>(33, 0), std::vector<int64_t>(33, 1)),
      {{9, 6}, {51}, {4}, true, {}, {}},
      {{9, 6}, {0, 0}, {9, 6}, true, {}, {}},
      {{9, 6}, {0, 0}, {9, 6}, false, {2}, {}},
      {{9, 6}, {0, 0}, {9, 6}, false, {2}, {2}},
      {{9, 6}, {0, 0}, {9, 6}, false, {2}, {-2}},
      {{9, 6}, {0, 0}, {9, 6}, false, {-2}, {0}},
  };
  for (const Placement &each : wrong) {
    EXPECT_EQ(each.Check().GetCode(), Code::kInvalidArgument) << &each - wrong.data();
  }
}

TEST(Placement, TellsOverlapsFromReplicas) {
  const Placement first = Block({4, 4}, {0, 0}, {2, 4});
  EXPECT_TRUE(first.IsSamePart(Block({4, 4}, {0, 0}, {2, 4})));
  EXPECT_FALSE(first.IsSamePart(Block({4, 4}, {2, 0}, {2, 4})));
  EXPECT_FALSE(first.Overlaps(Block({4, 4}, {2, 0}, {2, 4})));
  EXPECT_TRUE(first.Overlaps(Block({4, 4}, {1, 0}, {2, 4})));
  EXPECT_FALSE(first.Overlaps(Block({4, 4}, {1, 0}, {0, 4}))) << "empty";
  EXPECT_TRUE(first.Overlaps({{4, 4}, {8}, {8}, true, {}, {}})) << "not comparable";
}

TEST(Placement, IsInTheMetadataOfACollectionsFile) {
  Placements placements;
  placements["w"] =
      std::make_shared<const Placement>(Placement{{9, 6}, {5, 0}, {4, 6}, false, {2, 2}, {-1, 0}});
  placements["f"] = std::make_shared<const Placement>(Placement{{9}, {5}, {4}, true, {}, {}});
  const std::string text = CollectionsToJson({}, 2, placements);
  EXPECT_EQ(text, R"({"collections": {}, "_meta": {"num_workers": 2, "placements": )"
                  R"({"f": {"shape": [9], "offset": [5], "part": [4], "flat": true}, )"
                  R"("w": {"shape": [9, 6], "offset": [5, 0], "part": [4, 6], "mesh": [2, 2], )"
                  R"("split": [-1, 0]}}}})");
  const auto read = CollectionsFromJson(text, "c");
  ASSERT_TRUE(read.IsOk()) << read.GetStatus().Message();
  EXPECT_EQ(CollectionsToJson({}, 2, read->placements), text);
}

TEST(Placement, HostileTextIsCorrupt) {
  const auto read = [](const std::string &placements) {
    const std::string text =
        R"({"collections": {}, "_meta": {"num_workers": 1, "placements": )" + placements + "}}";
    return CollectionsFromJson(text, "c").GetStatus();
  };
  EXPECT_TRUE(read("null").IsOk());
  EXPECT_TRUE(read(R"({"w": {"shape": [], "offset": [], "part": [], "later": 1}})").IsOk());
  for (const char *text : {"[]", "1", R"({"w": null})", R"({"w": {}})", R"({"w": {"shape": [1]}})",
                           R"({"w": {"shape": 1, "offset": [0], "part": [1]}})",
                           R"({"w": {"shape": ["1"], "offset": [0], "part": [1]}})",
                           R"({"w": {"shape": [1.5], "offset": [0], "part": [1]}})",
                           R"({"w": {"shape": [1], "offset": [0], "part": [2]}})",
                           R"({"w": {"shape": [1], "offset": [0], "part": [1], "flat": 1}})",
                           R"({"w": {"shape": [1], "offset": [0], "part": [1], "mesh": [1]}})"}) {
    EXPECT_EQ(read(text).GetCode(), Code::kCorruptData) << text;
  }
  EXPECT_THAT(read(R"({"w": {"shape": [1], "offset": [0], "part": [2]}})").Message(),
              HasSubstr("_meta.placements.w: a part of 2 that begins at 0 is not inside"));
}

TEST(PlacementSet, KeepsTheLastOne) {
  PlacementSet set;
  set.Set("w", Block({4}, {0}, {2}));
  const uint64_t version = set.Version();
  set.Set("w", Block({4}, {0}, {2}));
  EXPECT_EQ(set.Version(), version) << "nothing changed";
  set.Set("w", Block({4}, {2}, {2}));
  EXPECT_GT(set.Version(), version);
  EXPECT_EQ(set.List().at("w")->offset, std::vector<int64_t>{2});
}

}  // namespace
}  // namespace smdebug::config::placement_test
