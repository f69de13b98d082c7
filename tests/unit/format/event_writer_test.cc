#include "format/event_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "format/golden_records.h"
#include "format/records.h"

namespace smdebug::format::testing::event_writer_test {
namespace {

// The record's bytes, or "" upon an error.
std::string Encoded(const std::string &name, const OwnedView &owned, const EventContext &context,
                    Checksum checksum = Checksum::kConstant) {
  EncodedEvent event;
  const Status status = EncodeTensorEvent(name, owned.View(), context, checksum, &event);
  EXPECT_TRUE(status.IsOk()) << status.Message();
  if (!status.IsOk()) return "";
  EXPECT_EQ(event.Size(owned.View().ByteCount()),
            event.head.size() + owned.Data().size() + event.tail.size());
  return event.head + owned.Data() + event.tail;
}

class GoldenWriterTest : public ::testing::TestWithParam<GoldenRecord> {};

TEST_P(GoldenWriterTest, BytesAreThoseOfTheOriginal) {
  const GoldenRecord &golden = GetParam();
  const OwnedView owned(golden.dtype, golden.shape, golden.payload, golden.strings);
  EXPECT_EQ(Encoded(golden.name, owned, golden.context, golden.checksum), golden.record);
}

INSTANTIATE_TEST_SUITE_P(Original, GoldenWriterTest, ::testing::ValuesIn(GoldenRecords()),
                         [](const auto &test) { return test.param.label; });

TEST(EventWriterTest, PayloadIsNeitherCopiedNorRead) {
  // An address that cannot be read.
  const std::vector<int64_t> shape = {1 << 20};
  tensor::View view;
  view.data = reinterpret_cast<const void *>(uintptr_t{64});
  view.shape = shape;
  view.dtype = DType::kFloat64;
  EncodedEvent event;
  ASSERT_TRUE(EncodeTensorEvent("w", view, {}, Checksum::kConstant, &event).IsOk());
  EXPECT_LT(event.head.size() + event.tail.size(), 200U);
}

TEST(EventWriterTest, OutputIsOverwritten) {
  const OwnedView large(DType::kUInt8, {3}, "abc");
  const OwnedView small(DType::kUInt8, {1}, "d");
  EncodedEvent fresh;
  EncodedEvent reused;
  ASSERT_TRUE(
      EncodeTensorEvent("a long name", large.View(), {}, Checksum::kConstant, &reused).IsOk());
  ASSERT_TRUE(EncodeTensorEvent("w", small.View(), {}, Checksum::kConstant, &reused).IsOk());
  ASSERT_TRUE(EncodeTensorEvent("w", small.View(), {}, Checksum::kConstant, &fresh).IsOk());
  EXPECT_EQ(reused.head, fresh.head);
  EXPECT_EQ(reused.tail, fresh.tail);
}

TEST(EventWriterTest, NamesMustBeUtf8) {
  const OwnedView owned(DType::kUInt8, {1}, "d");
  EncodedEvent event;
  for (const std::string_view name : {"\xFF", "w\xC3", "\xED\xA0\x80", "\xC0\x80"}) {
    EXPECT_EQ(EncodeTensorEvent(name, owned.View(), {}, Checksum::kConstant, &event).GetCode(),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(
      EncodeTensorEvent(std::string_view("a\0b", 3), owned.View(), {}, Checksum::kConstant, &event)
          .IsOk());
}

TEST(EventWriterTest, TextsMustBeUtf8AndThere) {
  EncodedEvent event;
  const OwnedView broken(DType::kString, {2}, "", {"fine", "\xFF"});
  EXPECT_EQ(EncodeTensorEvent("t", broken.View(), {}, Checksum::kConstant, &event).GetCode(),
            Code::kInvalidArgument);
  const std::vector<const char *> pointers = {"fine", nullptr};
  const std::vector<int64_t> shape = {2};
  tensor::View view;
  view.data = pointers.data();
  view.shape = shape;
  view.dtype = DType::kString;
  EXPECT_EQ(EncodeTensorEvent("t", view, {}, Checksum::kConstant, &event).GetCode(),
            Code::kInvalidArgument);
}

TEST(EventWriterTest, RecordsOfTwoGibibytesAreRefused) {
  EncodedEvent event;
  tensor::View view;
  view.data = reinterpret_cast<const void *>(uintptr_t{64});
  view.dtype = DType::kUInt8;
  // The rest of this record takes 80 bytes.
  for (const int64_t size : {int64_t{1} << 31, (int64_t{1} << 31) - 80}) {
    const std::vector<int64_t> shape = {size};
    view.shape = shape;
    const Status status = EncodeTensorEvent("w", view, {}, Checksum::kConstant, &event);
    EXPECT_EQ(status.GetCode(), Code::kUnsupported) << size;
    EXPECT_NE(status.Detail("size"), nullptr);
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(tensor::kMaxPayload)};
  view.shape = shape;
  EXPECT_TRUE(EncodeTensorEvent("w", view, {}, Checksum::kConstant, &event).IsOk());
}

}  // namespace
}  // namespace smdebug::format::testing::event_writer_test
