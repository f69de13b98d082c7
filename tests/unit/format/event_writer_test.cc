#include "format/event_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "format/event.pb-c.h"
#include "format/golden_records.h"
#include "format/records.h"

namespace smdebug::format::testing {
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

// Protobuf-c reads the event and writes the same bytes again: no length is wrong, nothing
// is left out or superfluous, and the order is the canonical one.
void ExpectCanonical(const std::string &record) {
  const std::string payload = PayloadOf(record);
  Smdebug__Format__Event *event = smdebug__format__event__unpack(
      nullptr, payload.size(), reinterpret_cast<const uint8_t *>(payload.data()));
  ASSERT_NE(event, nullptr);
  std::string packed(smdebug__format__event__get_packed_size(event), '\0');
  smdebug__format__event__pack(event, reinterpret_cast<uint8_t *>(packed.data()));
  smdebug__format__event__free_unpacked(event, nullptr);
  EXPECT_EQ(packed, payload);
}

TEST(EventWriterTest, ProtobufPacksTheSameBytes) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> shape(below(6));
    size_t count = 1;
    for (int64_t &size : shape) {
      size = static_cast<int64_t>(below(round % 7 == 0 ? 150 : 4));
      count *= static_cast<size_t>(size);
      if (count > 100000) size = 0;
      if (count > 100000) count = 0;
    }
    const std::string name(below(300), 'n');
    const EventContext context{static_cast<int64_t>(random() >> below(64) >> 1), Mode::kEval,
                               static_cast<int64_t>(random() >> below(64) >> 1),
                               static_cast<double>(below(3))};
    ExpectCanonical(
        Encoded(name, OwnedView(DType::kInt16, shape, std::string(2 * count, 'p')), context));
    std::vector<std::string> strings(count % 10);
    for (std::string &text : strings) text.assign(below(300), 't');
    ExpectCanonical(Encoded(
        name, OwnedView(DType::kString, {static_cast<int64_t>(strings.size())}, "", strings),
        context));
  }
}

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
}  // namespace smdebug::format::testing
