#include "format/record_head.h"

#include <gtest/gtest.h>

#include <string>

#include "format/records.h"
#include "tensor/value.h"

namespace smdebug::format::testing::record_head_test {
namespace {

using tensor::DType;
using tensor::Value;

std::string Record(const Value &value) {
  EncodedEvent event;
  EXPECT_TRUE(EncodeTensorEvent("layer0.weight", value.AsView(), {7, Mode::kTrain, 3, 1.5},
                                Checksum::kConstant, &event)
                  .IsOk());
  return event.head + std::string(AsText(value.Bytes())) + event.tail;
}

const std::string kRecord = Record(Value::CopyOf(DType::kFloat16, AsBytes("123456789abc"), {3, 2}));

TEST(RecordHeadTest, IsKnownFromTheFirstBytes) {
  const auto head = ReadRecordHead(AsBytes(kRecord), kRecord.size());
  ASSERT_TRUE(head);
  EXPECT_EQ(head->wall_time, 1.5);
  EXPECT_EQ(head->dtype, DType::kFloat16);
  EXPECT_EQ(head->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(ReadWallTime(AsBytes(kRecord)), 1.5);
}

// Without the elements it is the same; before they begin there is none, and no read leaves the
// bytes.
TEST(RecordHeadTest, NeedsNoElements) {
  const size_t before = kRecord.find("123456789abc");
  for (size_t size = 0; size <= kRecord.size(); ++size) {
    const std::string first = kRecord.substr(0, size);
    const auto head = ReadRecordHead(AsBytes(first), kRecord.size());
    EXPECT_EQ(head.has_value(), size + 1 >= before) << size;
    EXPECT_EQ(ReadWallTime(AsBytes(first)).has_value(), size >= 21) << size;
  }
}

TEST(RecordHeadTest, OfADamagedRecordIsNothingOrAnything) {
  for (size_t at = 0; at < kRecord.size(); ++at) {
    for (const char damage : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = kRecord;
      damaged[at] = damage;
      const auto head = ReadRecordHead(AsBytes(damaged), damaged.size());
      EXPECT_TRUE(!head || head->shape.size() <= 32);
    }
  }
  EXPECT_FALSE(ReadRecordHead(AsBytes(kRecord), kRecord.size() + 1));
}

TEST(RecordHeadTest, TextsHaveNone) {
  EncodedEvent event;
  const char *const words[] = {"word"};
  const int64_t shape[] = {1};
  ASSERT_TRUE(EncodeTensorEvent("t", {&words[0], shape, {}, DType::kString},
                                {7, Mode::kTrain, 3, 1.5}, Checksum::kConstant, &event)
                  .IsOk());
  const std::string record = event.head + event.tail;
  EXPECT_FALSE(ReadRecordHead(AsBytes(record), record.size()));
  EXPECT_EQ(ReadWallTime(AsBytes(record)), 1.5);
}

}  // namespace
}  // namespace smdebug::format::testing::record_head_test
