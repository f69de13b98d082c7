#include "storage/range_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>

namespace smdebug::storage::range_groups_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class RangeGroupsTest : public testing::Test {
 protected:
  void Want(const std::string &name, uint64_t offset, uint64_t length) {
    bytes_.emplace_back(length);
    sinks_.emplace_back(bytes_.back());
    ranges_.push_back({name, offset, length, &sinks_.back()});
  }
  // Hands the group its bytes of `content`, a few at a time.
  static void Feed(RangeGroup &group, const std::string &content) {
    std::string_view rest = std::string_view(content).substr(group.Begin(), group.Length());
    while (!rest.empty()) {
      const MutableByteSpan room = group.Room();
      ASSERT_FALSE(room.empty());
      const size_t count = std::min({room.size(), rest.size(), size_t{7}});
      std::memcpy(room.data(), rest.data(), count);
      group.Advance(count);
      rest.remove_prefix(count);
    }
  }
  std::string Got(size_t i) const { return std::string(AsText(bytes_[i])); }

  std::deque<std::vector<std::byte>> bytes_;
  std::deque<SpanSink> sinks_;
  std::vector<RangeRead> ranges_;
};

TEST_F(RangeGroupsTest, NeighboursOfAFileAreReadTogetherWhateverTheirOrder) {
  Want("b", 0, 3);
  Want("a", 10, 5);
  Want("a", 0, 10);
  Want("a", 20, 4);
  const auto groups = GroupRanges(ranges_);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0]->Indexes(), ElementsAre(2, 1, 3));
  EXPECT_EQ(groups[0]->Begin(), 0U);
  EXPECT_EQ(groups[0]->Length(), 24U);
  EXPECT_THAT(groups[1]->Indexes(), ElementsAre(0));
  Feed(*groups[0], "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(Got(2), "abcdefghij");
  EXPECT_EQ(Got(1), "klmno");
  EXPECT_EQ(Got(3), "uvwx");
}

TEST_F(RangeGroupsTest, FarOnesAreNot) {
  Want("a", 0, 10);
  Want("a", 10 + RangeGroup::kLargestGap, 10);
  Want("a", 21 + 2 * RangeGroup::kLargestGap, 10);
  EXPECT_THAT(GroupRanges(ranges_), SizeIs(2));
}

TEST_F(RangeGroupsTest, GroupsAreOfBoundedSize) {
  Want("a", 0, RangeGroup::kLargestGroup - 1);
  Want("a", RangeGroup::kLargestGroup - 1, 1);
  Want("a", RangeGroup::kLargestGroup, 1);
  EXPECT_THAT(GroupRanges(ranges_), SizeIs(2));
}

TEST_F(RangeGroupsTest, OverlappingRangesAreReadEachForItself) {
  Want("a", 0, 10);
  Want("a", 5, 10);
  EXPECT_THAT(GroupRanges(ranges_), SizeIs(2));
}

TEST_F(RangeGroupsTest, ASinkThatRefusesKeepsNobodyElseFromTheirs) {
  Want("a", 0, 10);
  Want("a", 10, 5);
  const MutableByteSpan first_four = MutableByteSpan(bytes_[0]).first(4);
  SpanSink small(first_four);
  ranges_[0].sink = &small;
  const auto groups = GroupRanges(ranges_);
  ASSERT_THAT(groups, SizeIs(1));
  Feed(*groups[0], "abcdefghijklmno");
  EXPECT_EQ(Got(0).substr(0, 4), "abcd");
  EXPECT_EQ(Got(1), "klmno");
}

TEST_F(RangeGroupsTest, NothingIsNoGroup) { EXPECT_THAT(GroupRanges(ranges_), SizeIs(0)); }

}  // namespace
}  // namespace smdebug::storage::range_groups_test
