#include "format/tfrecord.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32c.h"
#include "format/records.h"

namespace smdebug::format::tfrecord_test {
namespace {

std::string HeaderText(uint64_t size) { return std::string(AsText(RecordHeader(size))); }

TEST(TfrecordTest, HeaderIsThatOfTheOriginal) {
  EXPECT_EQ(HeaderText(98), testing::FromHex("620000000000000079fd606f"));
  EXPECT_EQ(HeaderText(471), testing::FromHex("d701000000000000e352cc41"));
}

TEST(TfrecordTest, ConstantFooterIsTheMaskedCrcOfTenLetters) {
  EXPECT_EQ(MaskedCrc32c(Crc32c(AsBytes("0x12345678"))), kConstantFooter);
  EXPECT_EQ(AsText(RecordFooter(kConstantFooter)), testing::FromHex("b3c02d06"));
  EXPECT_EQ(ParseRecordFooter(RecordFooter(kConstantFooter)), kConstantFooter);
  EXPECT_EQ(ParseRecordFooter(RecordFooter(0xFEDCBA98U)), 0xFEDCBA98U);
}

TEST(TfrecordTest, SizesGoThereAndBack) {
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{1} << 20, kMaxRecordPayload}) {
    const auto parsed = ParseRecordHeader(RecordHeader(size));
    ASSERT_TRUE(parsed.IsOk());
    EXPECT_EQ(*parsed, size);
  }
}

TEST(TfrecordTest, ImpossibleSizesAreRefused) {
  for (const uint64_t size : {kMaxRecordPayload + 1, uint64_t{1} << 32, ~uint64_t{0}}) {
    EXPECT_EQ(ParseRecordHeader(RecordHeader(size)).GetStatus().GetCode(), Code::kCorruptData);
  }
}

TEST(TfrecordTest, EveryFlippedBitOfTheHeaderIsSeen) {
  const std::string header = HeaderText(98);
  for (size_t bit = 0; bit < header.size() * 8; ++bit) {
    std::string flipped = header;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto parsed = ParseRecordHeader(AsBytes(flipped));
    ASSERT_FALSE(parsed.IsOk()) << bit;
    EXPECT_EQ(parsed.GetStatus().Message(), "the record's length field has a wrong checksum");
  }
}

TEST(TfrecordTest, ShortHeadersAreRefused) {
  const std::string header = HeaderText(98);
  for (size_t size = 0; size < header.size(); ++size) {
    const auto parsed = ParseRecordHeader(AsBytes(header).first(size));
    EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData) << size;
  }
}

}  // namespace
}  // namespace smdebug::format::tfrecord_test
