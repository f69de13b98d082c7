#include "record/step_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "record/tensors.h"

namespace smdebug::record::step_builder_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kChunkFloats = ChunkPool::kChunkSize / sizeof(float);

class StepBuilderTest : public testing::Test {
 protected:
  void Add(std::string_view name, const tensor::View &view,
           std::shared_ptr<const void> owner = nullptr) {
    SharedOwner shared(owner);
    const Status status = builder_.Add(name, view, kContext, owner ? &shared : nullptr);
    ASSERT_TRUE(status.IsOk()) << status.Message();
  }
  // The bytes of all batches in a row, the last one with the rest.
  std::string AllBytes() {
    batches_.push_back(builder_.TakeRest());
    std::string bytes;
    for (const Batch &batch : batches_) {
      uint64_t size = 0;
      for (const Piece &piece : batch.pieces) {
        bytes.append(AsText(piece.bytes));
        size += piece.bytes.size();
      }
      EXPECT_EQ(batch.bytes, size);
    }
    return bytes;
  }
  static std::string Encoded(std::string_view name, const Floats &floats) {
    format::EncodedEvent event;
    EXPECT_TRUE(
        format::EncodeTensorEvent(name, floats, kContext, format::Checksum::kConstant, &event)
            .IsOk());
    const auto &numbers = floats.Numbers();
    return event.head +
           std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * 4) +
           event.tail;
  }

  static constexpr format::EventContext kContext{3, Mode::kTrain, 2, 1.5};
  std::vector<Batch> batches_;
  Status answer_;
  StepBuilder builder_{[this](Batch batch) {
    batches_.push_back(std::move(batch));
    return answer_;
  }};
};

TEST_F(StepBuilderTest, SmallTensorsShareOnePiece) {
  const Floats a({1, 2});
  const Floats b({3});
  Add("a", a);
  Add("b", b);
  EXPECT_THAT(batches_, IsEmpty()) << "nothing is worth writing yet";
  EXPECT_EQ(AllBytes(), Encoded("a", a) + Encoded("b", b));
  EXPECT_THAT(batches_.back().pieces, SizeIs(1));
}

TEST_F(StepBuilderTest, RecordsAreMarkedWhereTheyBegin) {
  const Floats a({1, 2});
  const Floats large = Floats::Counting(2 * kChunkFloats);
  Add("a", a);
  Add("large", large);
  Add("b", a);
  const std::string bytes = AllBytes();
  std::vector<std::string> names;
  uint64_t length = 0;
  for (const Batch &batch : batches_) {
    for (const RecordMark &record : batch.records) {
      names.push_back(record.name);
      length += record.length;
    }
  }
  EXPECT_THAT(names, ElementsAre("a", "large", "b"));
  EXPECT_EQ(length, bytes.size());
}

TEST_F(StepBuilderTest, ALargeTensorIsPushedChunkByChunk) {
  const Floats large = Floats::Counting(3 * kChunkFloats + 17);
  Add("large", large);
  EXPECT_GE(batches_.size(), 3U);
  EXPECT_EQ(AllBytes(), Encoded("large", large));
  EXPECT_THAT(batches_.front().records, SizeIs(1));
}

// Sizes around a chunk's, with what the envelope adds.
TEST_F(StepBuilderTest, TensorsThatEndAtAChunksEndAreWhole) {
  for (size_t count = kChunkFloats - 40; count < kChunkFloats + 5; ++count) {
    const Floats floats = Floats::Counting(count);
    const Floats next({7});
    Add("x", floats);
    Add("y", next);
    EXPECT_EQ(AllBytes(), Encoded("x", floats) + Encoded("y", next)) << count;
    batches_.clear();
  }
}

TEST_F(StepBuilderTest, BorrowedMemoryIsNotCopied) {
  const Floats large = Floats::Counting(10'000);
  const auto owner = std::make_shared<int>(0);
  Add("large", large, owner);
  const std::string bytes = AllBytes();
  EXPECT_EQ(bytes, Encoded("large", large));
  const auto &pieces = batches_.back().pieces;
  ASSERT_THAT(pieces, SizeIs(3));
  EXPECT_EQ(static_cast<const void *>(pieces[1].bytes.data()), large.Numbers().data());
  EXPECT_EQ(owner.use_count(), 2);
  batches_.clear();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(StepBuilderTest, BorrowedMemoryIsPushedOnceItIsLarge) {
  const Floats large = Floats::Counting(kChunkFloats);
  Add("large", large, std::make_shared<int>(0));
  ASSERT_THAT(batches_, SizeIs(1));
  EXPECT_EQ(AllBytes(), Encoded("large", large));
}

TEST_F(StepBuilderTest, LittleIsCopiedAndGivenBackAtOnce) {
  const auto owner = std::make_shared<int>(0);
  Add("small", Floats({1, 2, 3}), owner);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(StepBuilderTest, StridedElementsAreMadeCompactAndGivenBackAtOnce) {
  for (const size_t rows : {size_t{3}, kChunkFloats}) {
    const Floats columns = Floats::Counting(2 * rows);
    const std::array<int64_t, 2> shape = {static_cast<int64_t>(rows), 2};
    const std::array<int64_t, 2> strides = {1, static_cast<int64_t>(rows)};
    const tensor::View view{columns.Numbers().data(), shape, strides, tensor::DType::kFloat32};
    std::vector<float> expected;
    for (size_t i = 0; i < rows; ++i) {
      expected.push_back(columns.Numbers()[i]);
      expected.push_back(columns.Numbers()[rows + i]);
    }
    const auto owner = std::make_shared<int>(0);
    Add("t", view, owner);
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(AllBytes(),
              Encoded("t", Floats({static_cast<int64_t>(rows), 2}, std::move(expected))));
    batches_.clear();
  }
}

TEST_F(StepBuilderTest, StridedTextsAreTakenByTheirStrides) {
  const std::array<const char *, 3> texts = {"a", "not this", "b"};
  const std::array<int64_t, 1> two = {2};
  Add("x", {texts.data(), two, two, tensor::DType::kString});
  const auto event = format::ParseRecord({AsBytes(AllBytes()), {}, {}});
  ASSERT_TRUE(event.IsOk() && *event);
  EXPECT_THAT((*event)->strings, ElementsAre("a", "b"));
}

TEST_F(StepBuilderTest, EmptyTensorsHaveARecord) {
  const Floats empty({0, 3}, {});
  Add("empty", empty);
  EXPECT_EQ(AllBytes(), Encoded("empty", empty));
}

TEST_F(StepBuilderTest, ATensorThatCannotBeEncodedLeavesNoTrace) {
  EXPECT_EQ(builder_.Add("\xff", Floats({1}), kContext).GetCode(), Code::kInvalidArgument);
  EXPECT_TRUE(builder_.TakeRest().IsEmpty());
}

TEST_F(StepBuilderTest, ARefusalIsPassedOnAndTheNextStepBeginsAnew) {
  answer_ = Status(Code::kStepDropped, "full");
  const Floats large = Floats::Counting(4 * kChunkFloats);
  EXPECT_EQ(builder_.Add("large", large, kContext).GetCode(), Code::kStepDropped);
  builder_.TakeRest();
  batches_.clear();
  answer_ = Status::Ok();
  const Floats next({1});
  Add("next", next);
  EXPECT_EQ(AllBytes(), Encoded("next", next));
}

}  // namespace
}  // namespace smdebug::record::step_builder_test
