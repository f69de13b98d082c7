// Tensors that are too large for one record; here a record is small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/hook_fixture.h"

namespace smdebug::record::large_tensor_test {
namespace {

using testing::ElementsAre;

class LargeTensorTest : public HookFixture {
 protected:
  LargeTensorTest() {
    options_.saves_all = true;
    options_.too_large = 64;
  }
  RecordedStep Saved(const tensor::View &view, std::shared_ptr<const void> owner = nullptr) {
    Begin();
    Expect(owner ? TheHook().Save("w", view, std::move(owner)) : TheHook().Save("w", view));
    End();
    Flush();
    return At(0);
  }
};

TEST_F(LargeTensorTest, GoesIntoSeveralRecords) {
  std::vector<float> numbers(18);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  RecordedStep step = Saved(Floats({6, 3}, numbers));
  EXPECT_THAT(step.names, ElementsAre("w/part_0", "w/part_1", "w/part_2"));
  EXPECT_THAT(step.floats["w/part_0"], ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(step.floats["w/part_2"], ElementsAre(12, 13, 14, 15, 16, 17));
  for (uint32_t i = 0; i < 3; ++i) {
    const format::PartOf expected{"w", i, {6, 3}};
    EXPECT_TRUE(step.index.tensors[i].part == expected) << i;
    EXPECT_TRUE(step.index.tensors[i].crc32c.has_value());
  }
}

TEST_F(LargeTensorTest, IsBorrowedIfItHasAnOwner) {
  options_.too_large = 256 << 10;
  const Floats large = Floats::Counting(100'000);
  const auto owner = std::make_shared<int>(0);
  RecordedStep step = Saved(large, owner);
  EXPECT_THAT(step.names, ElementsAre("w/part_0", "w/part_1", "w/part_2", "w/part_3"));
  EXPECT_EQ(step.floats["w/part_3"].back(), 99'999);
  Close();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(LargeTensorTest, IsOneRecordJustBelowTheLimit) {
  EXPECT_THAT(Saved(Floats::Counting(15)).names, ElementsAre("w"));
}

TEST_F(LargeTensorTest, HasStatisticsOfAllParts) {
  options_.reduction_config = config::ReductionConfig();
  Expect(options_.reduction_config.AddList("sum,max"));
  RecordedStep step = Saved(Floats::Counting(100));
  EXPECT_THAT(step.floats["smdebug/reductions/sum/w"], ElementsAre(4950));
  EXPECT_THAT(step.floats["smdebug/reductions/max/w"], ElementsAre(99));
}

TEST_F(LargeTensorTest, IsInTensorboardAsAWhole) {
  const auto recorded = [this](uint64_t too_large) {
    const auto tensorboard = std::make_shared<storage::MemoryStore>();
    options_.store = std::make_shared<storage::MemoryStore>();
    options_.tensorboard_store = tensorboard;
    options_.too_large = too_large;
    auto opened = Hook::Open(options_);
    EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
    Hook &hook = **opened;
    EXPECT_TRUE(hook.BeginStep().IsOk());
    Expect(hook.Save("w", Floats::Counting(100)));
    Expect(hook.EndStep());
    Expect(hook.Close());
    return tensorboard->Files();
  };
  const auto whole = recorded(1 << 20);
  EXPECT_EQ(whole.size(), 1U);
  EXPECT_EQ(recorded(64), whole);
}

}  // namespace
}  // namespace smdebug::record::large_tensor_test
