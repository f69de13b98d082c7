#include "record/step_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::record::step_lanes_test {
namespace {

using Kind = Item::Kind;

class StepLanesTest : public testing::Test {
 protected:
  static Item ItemOf(Kind kind) {
    Item item;
    item.kind = kind;
    return item;
  }
  std::shared_ptr<Step> AddStep(Kind kind = Kind::kSeal) {
    auto step = std::make_shared<Step>();
    lanes_.Add(step, ItemOf(kind));
    return step;
  }
  // The first item of the lane is done; what a seal leaves behind is the index.
  void FinishItem(Lane &lane) {
    const Kind kind = lane.items.front().kind;
    if (kind == Kind::kSeal) {
      lane.items.front().kind = Kind::kIndex;
    } else {
      lane.items.pop_front();
    }
    lanes_.GiveBack(lane, kind == Kind::kIndex || kind == Kind::kFile);
  }

  StepLanes lanes_{4};
};

TEST_F(StepLanesTest, NothingIsToBeDoneAtFirst) {
  EXPECT_FALSE(lanes_.HasWork());
  EXPECT_EQ(lanes_.Take(), nullptr);
  EXPECT_TRUE(lanes_.IsDoneUpTo(0));
}

TEST_F(StepLanesTest, SeveralStepsAreTakenAtATimeButEachOnce) {
  const auto first = AddStep();
  const auto second = AddStep();
  EXPECT_EQ(lanes_.Take()->step, first);
  EXPECT_EQ(lanes_.Take()->step, second);
  EXPECT_EQ(lanes_.Take(), nullptr);
}

TEST_F(StepLanesTest, AnIndexWaitsForThoseOfTheStepsBefore) {
  const auto first = AddStep();
  const auto second = AddStep();
  const auto first_lane = lanes_.Take();
  const auto second_lane = lanes_.Take();
  FinishItem(*second_lane);
  EXPECT_FALSE(lanes_.HasWork());
  FinishItem(*first_lane);
  ASSERT_EQ(lanes_.Take(), first_lane);
  EXPECT_EQ(lanes_.Take(), nullptr) << "the first index is not there yet";
  FinishItem(*first_lane);
  EXPECT_EQ(lanes_.Take(), second_lane);
}

TEST_F(StepLanesTest, ASmallFileWaitsForAllBefore) {
  AddStep();
  lanes_.Add(nullptr, ItemOf(Kind::kFile));
  const auto lane = lanes_.Take();
  EXPECT_EQ(lanes_.Take(), nullptr);
  FinishItem(*lane);
  FinishItem(*lanes_.Take());
  const auto put = lanes_.Take();
  ASSERT_NE(put, nullptr);
  EXPECT_EQ(put->items.front().kind, Kind::kFile);
}

TEST_F(StepLanesTest, BatchesOfAStepFollowEachOtherPastSmallFiles) {
  const auto step = AddStep(Kind::kBatch);
  lanes_.Add(nullptr, ItemOf(Kind::kFile));
  lanes_.Add(step, ItemOf(Kind::kSeal));
  EXPECT_EQ(lanes_.Take()->items.size(), 2U);
}

TEST_F(StepLanesTest, AStepThatIsGivenUpHoldsNobodyUp) {
  const auto first = AddStep(Kind::kBatch);
  const auto second = AddStep();
  FinishItem(*lanes_.Take());  // and no more of it comes
  const auto second_lane = lanes_.Take();
  FinishItem(*second_lane);
  EXPECT_EQ(lanes_.Take(), nullptr);
  first->is_dropped = true;
  const auto given_up = lanes_.Take();
  ASSERT_EQ(given_up->step, first);
  lanes_.GiveBack(*given_up, true);
  EXPECT_EQ(lanes_.Take(), second_lane);
}

TEST_F(StepLanesTest, NobodyIsFarAhead) {
  for (int i = 0; i < 6; ++i) AddStep();
  for (int i = 0; i < 4; ++i) EXPECT_NE(lanes_.Take(), nullptr);
  EXPECT_EQ(lanes_.Take(), nullptr);
}

TEST_F(StepLanesTest, ItemsAreDoneWhenAllUpToThemAre) {
  AddStep();
  AddStep();
  const auto first = lanes_.Take();
  const auto second = lanes_.Take();
  FinishItem(*second);
  EXPECT_FALSE(lanes_.IsDoneUpTo(1));
  FinishItem(*first);
  EXPECT_FALSE(lanes_.IsDoneUpTo(1)) << "a step without its index is not done";
  FinishItem(*lanes_.Take());
  EXPECT_TRUE(lanes_.IsDoneUpTo(1));
  EXPECT_FALSE(lanes_.IsDoneUpTo(2));
  EXPECT_EQ(lanes_.LastSequence(), 2U);
}

TEST_F(StepLanesTest, TheRestIsTakenOutButWhatIsAboutToBeComplete) {
  const auto under_way = AddStep();
  const auto lane = lanes_.Take();
  const auto waiting = AddStep(Kind::kBatch);
  const auto rest = lanes_.RemoveRest();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0]->step, waiting);
  FinishItem(*lane);
  EXPECT_EQ(lanes_.Take(), lane);
}

TEST_F(StepLanesTest, ASmallFileMayGoBeforeAStepThatIsBeingWritten) {
  AddStep();
  const auto step = AddStep(Kind::kBatch);
  const auto first = lanes_.Take();
  const auto second = lanes_.Take();
  lanes_.AddBefore(step, ItemOf(Kind::kFile));
  lanes_.Add(step, ItemOf(Kind::kSeal));
  EXPECT_EQ(lanes_.Take(), nullptr) << "the first step is not done";
  FinishItem(*second);
  FinishItem(*lanes_.Take());  // the second's seal, which leaves its index
  FinishItem(*first);
  FinishItem(*lanes_.Take());
  const auto put = lanes_.Take();
  ASSERT_NE(put, nullptr);
  EXPECT_EQ(put->step, nullptr);
  EXPECT_EQ(lanes_.Take(), nullptr) << "the index waits for the file";
  EXPECT_FALSE(lanes_.IsDoneUpTo(2));
  FinishItem(*put);
  EXPECT_EQ(lanes_.Take(), second);
}

TEST_F(StepLanesTest, ASmallFileBeforeAStepWithNoItemsIsTheNextItem) {
  AddStep();
  lanes_.AddBefore(std::make_shared<Step>(), ItemOf(Kind::kFile));
  EXPECT_FALSE(lanes_.IsDoneUpTo(2));
  const auto first = lanes_.Take();
  FinishItem(*first);
  FinishItem(*lanes_.Take());
  EXPECT_EQ(lanes_.Take()->step, nullptr);
}

// ---- held steps ----------------------------------------------------------------------------

class HeldLanesTest : public StepLanesTest {
 protected:
  // A step with this number that waits for late tensors.
  std::shared_ptr<Step> Held(int64_t number) {
    auto step = std::make_shared<Step>();
    step->global_step = number;
    lanes_.Hold(step);
    return step;
  }
  std::shared_ptr<Step> Sealed(int64_t number) {
    auto step = std::make_shared<Step>();
    step->global_step = number;
    lanes_.Add(step, ItemOf(Kind::kSeal));
    return step;
  }
};

TEST_F(HeldLanesTest, AHeldStepKeepsItsPlace) {
  const auto held = Held(0);
  Sealed(1);
  const auto later = lanes_.Take();
  ASSERT_NE(later, nullptr);
  FinishItem(*later);
  EXPECT_FALSE(lanes_.HasWork()) << "the index waits";
  lanes_.Add(held, ItemOf(Kind::kSeal));
  const auto lane = lanes_.Take();
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->step, held);
  FinishItem(*lane);
  FinishItem(*lanes_.Take());
  EXPECT_EQ(lanes_.Take(), later);
}

TEST_F(HeldLanesTest, AllLanesBehindAHeldStepAreWorkedOn) {
  Held(0);
  for (int64_t step = 1; step < 10; ++step) Sealed(step);
  for (int64_t step = 1; step < 10; ++step) {
    const auto lane = lanes_.Take();
    ASSERT_NE(lane, nullptr) << step;
    EXPECT_EQ(lane->step->global_step, step);
  }
}

TEST_F(HeldLanesTest, ItemsFindTheirStepAmongLaterOnes) {
  const auto held = Held(0);
  const auto other = Held(1);
  lanes_.Add(other, ItemOf(Kind::kBatch));
  lanes_.Add(held, ItemOf(Kind::kBatch));
  EXPECT_EQ(lanes_.Take()->step, held);
  EXPECT_EQ(lanes_.Take()->step, other);
}

TEST_F(HeldLanesTest, SmallFilesDoNotWait) {
  const auto held = Held(0);
  Sealed(1);
  lanes_.Add(nullptr, ItemOf(Kind::kFile));
  const uint64_t last = lanes_.LastSequence();
  const auto file = lanes_.Take();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->items.front().kind, Kind::kFile);
  EXPECT_FALSE(lanes_.IsDoneUpTo(last));
  FinishItem(*file);
  lanes_.AddBefore(held, ItemOf(Kind::kFile));
  EXPECT_EQ(lanes_.Take()->items.front().kind, Kind::kFile);
}

TEST_F(HeldLanesTest, AHeldStepIsNotWaitedFor) {
  Held(0);
  EXPECT_TRUE(lanes_.IsDoneUpTo(lanes_.LastSequence()));
}

}  // namespace
}  // namespace smdebug::record::step_lanes_test
