#include "format/event_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "format/golden_records.h"
#include "format/records.h"

namespace smdebug::format::testing::event_reader_test {
namespace {

void ExpectIsGolden(const Result<std::optional<TensorEvent>> &parsed, const GoldenRecord &golden) {
  ASSERT_TRUE(parsed.IsOk()) << parsed.GetStatus().Message();
  ASSERT_TRUE(parsed->has_value());
  const TensorEvent &event = **parsed;
  EXPECT_EQ(event.name, golden.name);
  EXPECT_EQ(event.dtype, golden.dtype);
  EXPECT_EQ(event.shape, golden.shape);
  EXPECT_EQ(AsText(event.content), golden.payload);
  EXPECT_EQ(event.strings, golden.strings);
  EXPECT_EQ(event.context.step, golden.context.step);
  EXPECT_EQ(event.context.mode, golden.context.mode);
  EXPECT_EQ(event.context.mode_step, golden.context.mode_step);
  EXPECT_EQ(event.context.wall_time, golden.context.wall_time);
}

RecordParts Split(std::string_view record, size_t first, size_t second) {
  const ByteSpan bytes = AsBytes(record);
  return {bytes.first(first), bytes.subspan(first, second - first), bytes.subspan(second)};
}

class GoldenReaderTest : public ::testing::TestWithParam<GoldenRecord> {};

TEST_P(GoldenReaderTest, RecordsOfTheOriginalAreRead) {
  ExpectIsGolden(ParseWhole(GetParam().record), GetParam());
}

TEST_P(GoldenReaderTest, PayloadIsLocatedAndReadApart) {
  const std::string &record = GetParam().record;
  const auto located = LocatePayload(AsBytes(record), record.size());
  ASSERT_TRUE(located.IsOk());
  ASSERT_EQ(located->has_value(), !GetParam().payload.empty());
  if (!located->has_value()) return;
  EXPECT_EQ(record.substr((*located)->offset, (*located)->size), GetParam().payload);
  // In three pieces of memory, as the caller has them.
  const size_t end = (*located)->offset + (*located)->size;
  const std::string before = record.substr(0, (*located)->offset);
  const std::string payload = record.substr((*located)->offset, (*located)->size);
  const std::string after = record.substr(end);
  const auto parsed = ParseRecord({AsBytes(before), AsBytes(payload), AsBytes(after)});
  ExpectIsGolden(parsed, GetParam());
  EXPECT_EQ(static_cast<const void *>((*parsed)->content.data()), payload.data());
}

// Wherever a caller cuts the record, it is read rightly or refused.
TEST_P(GoldenReaderTest, EverySplitIsReadRightlyOrRefused) {
  const std::string &record = GetParam().record;
  if (record.size() > 150) return;  // the number of splits grows with the square
  for (size_t first = 0; first <= record.size(); ++first) {
    for (size_t second = first; second <= record.size(); ++second) {
      const auto parsed = ParseRecord(Split(record, first, second));
      if (parsed.IsOk()) ExpectIsGolden(parsed, GetParam());
    }
  }
}

TEST_P(GoldenReaderTest, FirstBytesGiveThePayloadOrNothing) {
  const std::string &record = GetParam().record;
  const auto whole = LocatePayload(AsBytes(record), record.size());
  bool is_found = false;
  for (size_t size = 0; size <= record.size(); ++size) {
    const auto located = LocatePayload(AsBytes(record).first(size), record.size());
    ASSERT_TRUE(located.IsOk()) << size << located.GetStatus().Message();
    if (!located->has_value()) continue;
    is_found = true;
    EXPECT_EQ((*located)->offset, (**whole).offset);
    EXPECT_EQ((*located)->size, (**whole).size);
  }
  EXPECT_EQ(is_found, whole->has_value());
}

TEST_P(GoldenReaderTest, CutRecordsAreRefused) {
  const std::string &record = GetParam().record;
  for (size_t size = 0; size < record.size(); ++size) {
    const auto parsed = ParseWhole(record.substr(0, size));
    EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData) << size;
    const auto located = LocatePayload(AsBytes(record).first(size), size);
    EXPECT_TRUE(!located.IsOk() || !located->has_value()) << size;
  }
}

TEST_P(GoldenReaderTest, EveryFlippedBitIsRefusedOrShowsInTheCrc) {
  const std::string &record = GetParam().record;
  const uint32_t crc = Crc32c(AsBytes(record));
  for (size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string flipped = record;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto parsed = ParseWhole(flipped);
    if (!parsed.IsOk()) {
      EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData) << bit;
    }
    EXPECT_NE(Crc32c(AsBytes(flipped)), crc) << bit;
    (void)LocatePayload(AsBytes(flipped), flipped.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Original, GoldenReaderTest, ::testing::ValuesIn(GoldenRecords()),
                         [](const auto &test) { return test.param.label; });

void ExpectRefused(const std::string &record, std::string_view what) {
  const auto parsed = ParseWhole(record);
  ASSERT_FALSE(parsed.IsOk()) << what;
  EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData) << what;
  EXPECT_NE(parsed.GetStatus().Message().find(what), std::string::npos)
      << parsed.GetStatus().Message();
}

TEST(EventReaderTest, EveryTypeAndShapeGoesThereAndBack) {
  for (int64_t number = 1; number < 50; ++number) {
    const auto dtype = tensor::DTypeFromNumber(number);
    if (!dtype || *dtype == DType::kString) continue;
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{},
                                              {0},
                                              {1},
                                              {3},
                                              {2, 3},
                                              {4, 0, 2},
                                              {1, 1, 1, 1, 2},
                                              std::vector<int64_t>(tensor::kMaxRank, 1)}) {
      tensor::View view{nullptr, shape, {}, *dtype};
      std::string data(view.ByteCount(), '\0');
      for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 37);
      const OwnedView owned(*dtype, shape, data);
      EncodedEvent encoded;
      const EventContext context{7, Mode::kPredict, 3, 1.5};
      ASSERT_TRUE(EncodeTensorEvent("x", owned.View(), context, Checksum::kTrue, &encoded).IsOk());
      const auto parsed =
          ParseRecord({AsBytes(encoded.head), AsBytes(owned.Data()), AsBytes(encoded.tail)});
      ASSERT_TRUE(parsed.IsOk() && parsed->has_value()) << parsed.GetStatus().Message();
      EXPECT_EQ((*parsed)->dtype, *dtype);
      EXPECT_EQ((*parsed)->shape, shape);
      EXPECT_EQ(AsText((*parsed)->content), data);
      EXPECT_EQ((*parsed)->context.mode_step, 3);
    }
  }
}

TEST(EventReaderTest, TextOfEveryShapeGoesThereAndBack) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {0}, {1}, {2, 2}, {3, 0}, {1, 3, 1}}) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<std::string> strings;
    for (int64_t i = 0; i < count; ++i) strings.push_back(std::string(static_cast<size_t>(i), 'a'));
    const OwnedView owned(DType::kString, shape, "", strings);
    EncodedEvent encoded;
    ASSERT_TRUE(EncodeTensorEvent("t", owned.View(), {}, Checksum::kConstant, &encoded).IsOk());
    const auto parsed = ParseWhole(encoded.head + encoded.tail);
    ASSERT_TRUE(parsed.IsOk() && parsed->has_value()) << parsed.GetStatus().Message();
    EXPECT_EQ((*parsed)->dtype, DType::kString);
    EXPECT_EQ((*parsed)->shape, shape);
    EXPECT_EQ((*parsed)->strings, strings);
  }
}

TEST(EventReaderTest, FooterMayBeTheTrueCrcOrTheConstantOnly) {
  const GoldenRecord golden = GoldenRecords()[1];
  ASSERT_EQ(golden.checksum, Checksum::kTrue);
  ExpectIsGolden(ParseWhole(golden.record), golden);
  std::string record = golden.record;
  record.back() = static_cast<char>(record.back() ^ 1);
  ExpectRefused(record, "wrong checksum");
  // With the true CRC, a changed payload is seen without an index.
  record = golden.record;
  record[60] = static_cast<char>(record[60] ^ 1);
  ExpectRefused(record, "wrong checksum");
}

TEST(EventReaderTest, EventsWithoutTensorAreNothing) {
  const std::string scalar = Varint(2 << 3 | 5) + std::string(4, 'f');
  for (const std::string &payload :
       {std::string(), Bytes(3, "brain.Event:2"), Bytes(5, ""), Bytes(5, Bytes(1, "")),
        Bytes(5, Bytes(1, Bytes(1, "loss") + scalar)), Bytes(5, Bytes(1, Bytes(5, "histogram"))),
        Bytes(5, Bytes(1, scalar) + Bytes(1, Bytes(1, "b") + scalar)), Number(2, 10)}) {
    const std::string record = Framed(payload);
    const auto parsed = ParseWhole(record);
    ASSERT_TRUE(parsed.IsOk()) << parsed.GetStatus().Message();
    EXPECT_FALSE(parsed->has_value());
    const auto located = LocatePayload(AsBytes(record), record.size());
    ASSERT_TRUE(located.IsOk());
    EXPECT_FALSE(located->has_value());
  }
}

TEST(EventReaderTest, MissingMetadataMeansGlobal) {
  const std::string tensor = Number(1, 4) + Shape({1}) + Bytes(4, "a");
  const auto parsed =
      ParseWhole(Framed(Number(2, 12) + Bytes(5, Bytes(1, Bytes(1, "x") + Bytes(8, tensor)))));
  ASSERT_TRUE(parsed.IsOk() && parsed->has_value());
  EXPECT_EQ((*parsed)->context.mode, Mode::kGlobal);
  EXPECT_EQ((*parsed)->context.mode_step, 12);
  EXPECT_EQ((*parsed)->context.step, 12);
  EXPECT_EQ((*parsed)->context.wall_time, 0);
}

std::string RecordWithPlugins(std::string_view plugins) {
  const std::string tensor = Number(1, 4) + Shape({1}) + Bytes(4, "a");
  return Framed(Bytes(5, Bytes(1, Bytes(1, "x") + Bytes(8, tensor) + Bytes(9, plugins))));
}

TEST(EventReaderTest, ModesMustMakeSense) {
  const auto plugin = [](std::string_view name, std::string_view content) {
    return Bytes(1, Bytes(1, name) + Bytes(2, content));
  };
  const auto parsed = ParseWhole(RecordWithPlugins(plugin("scalars", "?") + plugin("mode", "2")));
  ASSERT_TRUE(parsed.IsOk() && parsed->has_value());
  EXPECT_EQ((*parsed)->context.mode, Mode::kEval);
  for (const std::string_view mode : {"", "x", "1x", " 1", "1.0", "99999999999999999999"}) {
    ExpectRefused(RecordWithPlugins(plugin("mode", mode)), "no number");
    ExpectRefused(RecordWithPlugins(plugin("mode_step", mode)), "no number");
  }
  for (const std::string_view mode : {"0", "5", "-1", "4294967297"}) {
    ExpectRefused(RecordWithPlugins(plugin("mode", mode)), "unknown mode");
  }
}

TEST(EventReaderTest, ShapesMustFitTheContent) {
  const std::string floats = Number(1, 1);
  const std::string content = Bytes(4, "12345678");
  EXPECT_TRUE(ParseWhole(TensorRecord(floats + Shape({2}) + content)).IsOk());
  ExpectRefused(TensorRecord(floats + Shape({3}) + content), "asks for 3 elements");
  ExpectRefused(TensorRecord(floats + Shape({1}) + content), "asks for 1 elements");
  ExpectRefused(TensorRecord(floats + content), "asks for 1 elements");
  ExpectRefused(TensorRecord(floats + Shape({2})), "asks for 2 elements");
  ExpectRefused(TensorRecord(floats + Shape({0}) + content), "asks for 0 elements");
  ExpectRefused(TensorRecord(floats + Shape({2}) + Bytes(4, "1234567")), "asks for 2 elements");
  ExpectRefused(TensorRecord(floats + Shape({2}) + Bytes(4, "123456789")), "asks for 2 elements");
}

TEST(EventReaderTest, HostileShapesAreRefused) {
  const std::string start = Number(1, 1);
  const uint64_t huge = std::numeric_limits<int64_t>::max();
  ExpectRefused(TensorRecord(start + Shape({~uint64_t{0}})), "negative size");
  ExpectRefused(TensorRecord(start + Shape({uint64_t{1} << 63})), "negative size");
  ExpectRefused(TensorRecord(start + Shape({huge, huge})), "impossible");
  ExpectRefused(TensorRecord(start + Shape({uint64_t{1} << 32, uint64_t{1} << 32})), "impossible");
  ExpectRefused(TensorRecord(start + Shape({uint64_t{1} << 62})), "asks for");
  ExpectRefused(TensorRecord(start + Shape(std::vector<uint64_t>(33, 1))), "32 dimensions");
  ExpectRefused(TensorRecord(start + Bytes(2, Number(3, 1))), "no known shape");
}

TEST(EventReaderTest, UnknownTypesAreRefused) {
  for (const uint64_t dtype :
       {uint64_t{20}, uint64_t{21}, uint64_t{101}, uint64_t{1} << 32 | 1, ~uint64_t{0}}) {
    ExpectRefused(TensorRecord(Number(1, dtype) + Shape({1}) + Bytes(4, "1234")),
                  "unknown element type");
  }
}

TEST(EventReaderTest, TextsMustFitTheirShape) {
  const std::string texts = Bytes(8, "a") + Bytes(8, "bc");
  for (const std::string &record : {TensorRecord(Shape({2}) + texts), TensorRecord(texts),
                                    TensorRecord(Number(1, 7) + texts)}) {
    const auto parsed = ParseWhole(record);
    ASSERT_TRUE(parsed.IsOk() && parsed->has_value()) << parsed.GetStatus().Message();
    EXPECT_EQ((*parsed)->dtype, DType::kString);
    EXPECT_EQ((*parsed)->shape, std::vector<int64_t>{2});
    EXPECT_EQ((*parsed)->strings, (std::vector<std::string>{"a", "bc"}));
  }
  ExpectRefused(TensorRecord(Shape({1}) + texts), "number of texts");
  ExpectRefused(TensorRecord(Shape({3}) + texts), "number of texts");
  ExpectRefused(TensorRecord(Shape({}) + texts), "number of texts");
  ExpectRefused(TensorRecord(Shape({uint64_t{1} << 62, 4, 2}) + texts), "number of texts");
  ExpectRefused(TensorRecord(Shape({1}) + Bytes(8, "\xFF")), "UTF-8");
  ExpectRefused(TensorRecord(Shape({2}) + texts + Bytes(4, "ab")), "holds numbers");
  ExpectRefused(TensorRecord(Number(1, 1) + Shape({2}) + texts), "texts for numbers");
}

TEST(EventReaderTest, NamesMustBeUtf8) {
  const std::string tensor = Bytes(8, Number(1, 4) + Shape({1}) + Bytes(4, "a"));
  ExpectRefused(Framed(Bytes(5, Bytes(1, Bytes(1, "\xC3(") + tensor))), "not UTF-8");
  const auto parsed = ParseWhole(Framed(Bytes(5, Bytes(1, tensor))));
  ASSERT_TRUE(parsed.IsOk() && parsed->has_value());
  EXPECT_EQ((*parsed)->name, "");
}

TEST(EventReaderTest, WhatIsThereTwiceIsRefused) {
  const std::string tensor = Number(1, 4) + Shape({1}) + Bytes(4, "a");
  const std::string value = Bytes(1, "x") + Bytes(8, tensor);
  EXPECT_TRUE(ParseWhole(Framed(Bytes(5, Bytes(1, value)))).IsOk());
  ExpectRefused(Framed(Bytes(5, Bytes(1, value)) + Bytes(5, Bytes(1, value))), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value)) + Bytes(3, "brain.Event:2")), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value + Bytes(8, tensor)))), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value + Bytes(5, "")))), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value + Bytes(1, "y")))), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value + Bytes(9, "") + Bytes(9, "")))), "twice");
  ExpectRefused(TensorRecord(tensor + Bytes(4, "a")), "twice");
  ExpectRefused(TensorRecord(tensor + Shape({1})), "twice");
  ExpectRefused(Framed(Bytes(5, Bytes(1, value) + Bytes(1, Bytes(1, "loss")))), "more than one");
  ExpectRefused(Framed(Bytes(5, Bytes(1, Bytes(1, "loss")) + Bytes(1, value))), "more than one");
}

TEST(EventReaderTest, BrokenStructureIsRefused) {
  const std::string good = Number(1, 4) + Shape({1}) + Bytes(4, "a");
  const std::string ten(10, '\xFF');
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 3)), "impossible");  // a group
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 4)), "impossible");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 6)), "impossible");
  ExpectRefused(TensorRecord(good + Varint(0 << 3 | 0) + Varint(1)), "impossible");
  ExpectRefused(TensorRecord(good + Varint(uint64_t{1} << 32) + Varint(1)), "impossible");
  ExpectRefused(TensorRecord(good + ten), "too long");
  ExpectRefused(TensorRecord(good + Varint(99 << 3) + ten + '\0'), "too long");
  ExpectRefused(TensorRecord(good + Varint(99 << 3) + ten.substr(1) + '\2'), "too long");
  ExpectRefused(TensorRecord(good + Varint(99 << 3) + ten.substr(5)), "cut");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 2) + ten.substr(5) + '\1'), "too long");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 2) + Varint(1)), "longer than");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 2) + Varint(0xFFFFFFFF)), "longer than");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 1) + "1234567"), "longer than");
  ExpectRefused(TensorRecord(good + Varint(99 << 3 | 5) + "123"), "longer than");
  ExpectRefused(TensorRecord(Bytes(1, "a")), "wire type");
  ExpectRefused(TensorRecord(Number(4, 1)), "wire type");
  ExpectRefused(Framed(Number(5, 1)), "wire type");
  ExpectRefused(Framed(Number(1, 1)), "wire type");
  // Fields that are not known are none of our business.
  EXPECT_TRUE(
      ParseWhole(TensorRecord(good + Number(99, ~uint64_t{0}) + Bytes(100, "abc") +
                              Varint(101 << 3 | 1) + "12345678" + Varint(102 << 3 | 5) + "1234"))
          .IsOk());
}

TEST(EventReaderTest, LengthsOfTheFrameMustBeThoseOfTheRecord) {
  const std::string record = TensorRecord(Number(1, 4) + Shape({1}) + Bytes(4, "a"));
  ExpectRefused(record + " ", "length field says");
  ExpectRefused(record.substr(0, record.size() - 1), "length field says");
  ExpectRefused("", "too short");
  ExpectRefused(std::string(kRecordHeaderSize + kRecordFooterSize - 1, '\0'), "too short");
  EXPECT_FALSE(LocatePayload(AsBytes(record), record.size() + 1).IsOk());
  EXPECT_FALSE(LocatePayload(AsBytes(record), 0).IsOk());
  std::string huge(AsText(RecordHeader(kMaxRecordPayload)));
  EXPECT_FALSE(LocatePayload(AsBytes(huge), huge.size() + 100).IsOk());
  ExpectRefused(huge + "1234", "length field says");
}

TEST(EventReaderTest, EmptyContentIsNotLocated) {
  const std::string record = TensorRecord(Number(1, 1) + Shape({0}) + Bytes(4, ""));
  EXPECT_TRUE(ParseWhole(record).IsOk());
  const auto located = LocatePayload(AsBytes(record), record.size());
  EXPECT_TRUE(located.IsOk() && !located->has_value());
}

TEST(EventReaderTest, LocatingFailsWhereTheBytesContradictTheSize) {
  // A content longer than its tensor, a tensor longer than its value, ...
  const std::string content = Varint(4 << 3 | 2) + Varint(1000);
  for (const std::string &payload :
       {Bytes(5, Bytes(1, Bytes(8, content))), Bytes(5, Bytes(1, content)), content,
        Varint(5 << 3 | 2) + Varint(1000), Bytes(5, Varint(1 << 3 | 2) + Varint(1000))}) {
    const std::string record = Framed(payload);
    EXPECT_EQ(LocatePayload(AsBytes(record), record.size()).GetStatus().GetCode(),
              Code::kCorruptData);
  }
}

}  // namespace
}  // namespace smdebug::format::testing::event_reader_test
