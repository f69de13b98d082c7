#include "format/summary_writer.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "format/tfrecord.h"

namespace smdebug::format::summary_writer_test {
namespace {

// How many records there are; each has true checksums.
int CountRecords(const std::string &bytes) {
  ByteSpan rest = AsBytes(bytes);
  int count = 0;
  for (; !rest.empty(); ++count) {
    const auto size = ParseRecordHeader(rest);
    EXPECT_TRUE(size.IsOk());
    if (!size.IsOk()) return -1;
    const ByteSpan payload = rest.subspan(kRecordHeaderSize, *size);
    rest = rest.subspan(kRecordHeaderSize + *size);
    EXPECT_EQ(ParseRecordFooter(rest.first(kRecordFooterSize)), MaskedCrc32c(Crc32c(payload)));
    rest = rest.subspan(kRecordFooterSize);
  }
  return count;
}

TEST(SummaryTagTest, KeepsWordsAndSlashes) {
  EXPECT_EQ(SummaryTag("a/b-c.d_1"), "a/b-c.d_1");
  EXPECT_EQ(SummaryTag("Net: w[0]"), "Net__w_0_");
  EXPECT_EQ(SummaryTag("//scalar/x"), "scalar/x");
  EXPECT_EQ(SummaryTag("größe"), "größe");
  EXPECT_EQ(SummaryTag("///"), "");
}

TEST(SummaryWriterTest, MakesRecordsWithTrueChecksums) {
  const SummaryWriter writer(3, 1.6e9);
  std::string bytes;
  writer.AddVersion(&bytes);
  EXPECT_NE(bytes.find("brain.Event:2"), std::string::npos);
  writer.AddScalar("loss", 0.5F, &bytes);
  writer.AddScalar("zero", 0, &bytes);
  writer.AddHistogram("w", {-1, 1, 0, 2, 2, {-1, 0, 1}, {0, 1, 1}}, &bytes);
  EXPECT_EQ(CountRecords(bytes), 4);
}

TEST(SummaryWriterTest, AScalarIsTheBytesThatTensorFlowWrites) {
  std::string bytes;
  SummaryWriter(1, 0).AddScalar("t", 1.0F, &bytes);
  const std::string payload = bytes.substr(kRecordHeaderSize, bytes.size() - 16);
  // step 1; summary { value { tag "t", simple_value 1 } }
  EXPECT_EQ(payload, std::string("\x10\x01\x2a\x0a\x0a\x08\x0a\x01t\x15\x00\x00\x80\x3f", 14));
}

}  // namespace
}  // namespace smdebug::format::summary_writer_test
