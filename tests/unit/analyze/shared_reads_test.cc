#include "analyze/shared_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace smdebug::analyze::shared_reads_test {
namespace {

ReadTensor TensorOf(float number) {
  return {"w", {}, tensor::Value::Scalar(tensor::DType::kFloat32, number)};
}

float NumberOf(const ReadTensor &tensor) {
  float number = 0;
  std::memcpy(&number, tensor.value.data.get(), sizeof number);
  return number;
}

std::shared_ptr<const AlignedBuffer> PartOf(size_t size) {
  auto part = std::make_shared<AlignedBuffer>(size);
  for (size_t i = 0; i < size; ++i) part->Data()[i] = static_cast<std::byte>(i);
  return part;
}

TEST(SharedReadsTest, KeepsNothingUnlessShared) {
  SharedReads reads;
  reads.KeepRecord({"file", 0, 10, {}}, TensorOf(1));
  reads.KeepPart("file", 0, PartOf(10));
  EXPECT_FALSE(reads.FindRecord({"file", 0, 10, {}}));
  EXPECT_TRUE(reads.FindBytes({"file", 0, 10, {}}).bytes.empty());
}

TEST(SharedReadsTest, ForgetsWhenTheLastUserEnds) {
  SharedReads reads;
  reads.Begin();
  reads.Begin();
  reads.KeepRecord({"file", 0, 10, {}}, TensorOf(1));
  reads.End();
  EXPECT_TRUE(reads.FindRecord({"file", 0, 10, {}}));
  EXPECT_FALSE(reads.FindRecord({"file", 1, 10, {}}));
  EXPECT_FALSE(reads.FindRecord({"other", 0, 10, {}}));
  reads.End();
  EXPECT_FALSE(reads.FindRecord({"file", 0, 10, {}}));
}

TEST(SharedReadsTest, EveryReaderMayWriteToItsCopy) {
  SharedReads reads;
  reads.Begin();
  ReadTensor first = TensorOf(1);
  reads.KeepRecord({"file", 0, 10, {}}, first);
  const float changed = 5;
  std::memcpy(const_cast<std::byte *>(first.value.data.get()), &changed, sizeof changed);
  const auto second = reads.FindRecord({"file", 0, 10, {}});
  ASSERT_TRUE(second);
  EXPECT_EQ(NumberOf(*second), 1);
  EXPECT_NE(second->value.data, reads.FindRecord({"file", 0, 10, {}})->value.data);
}

TEST(SharedReadsTest, FindsBytesWithinAPart) {
  SharedReads reads;
  reads.Begin();
  reads.KeepPart("file", 100, PartOf(20));
  EXPECT_EQ(reads.FindBytes({"file", 105, 15, {}}).bytes.front(), std::byte{5});
  EXPECT_EQ(reads.FindBytes({"file", 100, 20, {}}).bytes.size(), 20U);
  EXPECT_TRUE(reads.FindBytes({"file", 99, 5, {}}).bytes.empty());
  EXPECT_TRUE(reads.FindBytes({"file", 105, 16, {}}).bytes.empty());
  EXPECT_TRUE(reads.FindBytes({"file", 105, UINT64_MAX, {}}).bytes.empty());
  EXPECT_TRUE(reads.FindBytes({"file", UINT64_MAX, 1, {}}).bytes.empty());
  EXPECT_TRUE(reads.FindBytes({"other", 105, 1, {}}).bytes.empty());
}

TEST(SharedReadsTest, KeepsALimitedNumberOfBytes) {
  SharedReads reads;
  reads.Begin();
  const uint64_t size = uint64_t{100} << 20;
  for (uint64_t i = 0; i < 3; ++i) {
    reads.KeepRecord({"file", i, size, {}}, TensorOf(static_cast<float>(i)));
  }
  EXPECT_FALSE(reads.FindRecord({"file", 0, size, {}}));
  EXPECT_TRUE(reads.FindRecord({"file", 2, size, {}}));
  reads.KeepRecord({"large", 0, size * 3, {}}, TensorOf(7));
  EXPECT_FALSE(reads.FindRecord({"large", 0, size * 3, {}}));
}

}  // namespace
}  // namespace smdebug::analyze::shared_reads_test
