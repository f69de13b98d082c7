#include "format/scalar_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "format/records.h"
#include "tensor/value.h"

namespace smdebug::format::testing::scalar_record_test {
namespace {

using tensor::DType;
using tensor::Value;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Optional;

constexpr std::string_view kName = "smdebug/reductions/abs_mean/layer0.weight";

std::string Record(const Value &value, const EventContext &context = {7, Mode::kTrain, 3, 1.5},
                   Checksum checksum = Checksum::kConstant) {
  EncodedEvent event;
  EXPECT_TRUE(EncodeTensorEvent(kName, value.AsView(), context, checksum, &event).IsOk());
  return event.head + std::string(AsText(value.Bytes())) + event.tail;
}

std::optional<double> Read(std::string_view record) {
  const auto read = ScalarReader().Read(AsBytes(record));
  return read ? std::optional(read->number) : std::nullopt;
}

TEST(ScalarRecordTest, ReadsWhatTheWriterWrites) {
  for (const double number : {0.0, -1.25, 3e300, double{INFINITY}, double{NAN}}) {
    const std::string record = Record(Value::Scalar(DType::kFloat64, number, {1}));
    EXPECT_THAT(Read(record), Optional(NanSensitiveDoubleEq(number)));
  }
  EXPECT_EQ(Read(Record(Value::Scalar(DType::kFloat32, 0.1F, {1}))), double{0.1F});
  EXPECT_EQ(Read(Record(Value::Scalar(DType::kInt64, int64_t{-2}, {1}))), -2.0);
  EXPECT_EQ(Read(Record(Value::Scalar(DType::kFloat64, 2.0))), 2.0);
}

TEST(ScalarRecordTest, ReadsTheTime) {
  const Value value = Value::Scalar(DType::kFloat64, 2.0, {1});
  for (const double time : {0.0, 1.5}) {
    const std::string record = Record(value, {7, Mode::kTrain, 3, time});
    EXPECT_EQ(ScalarReader().Read(AsBytes(record))->wall_time, time);
  }
}

TEST(ScalarRecordTest, AtEveryStep) {
  const Value value = Value::Scalar(DType::kFloat64, 2.0, {1});
  for (const int64_t step : {int64_t{0}, int64_t{127}, int64_t{128}, int64_t{1} << 34}) {
    EXPECT_EQ(Read(Record(value, {step, Mode::kEval, step, 0})), 2.0) << step;
  }
}

TEST(ScalarRecordTest, OtherTensorsAreLeftToOthers) {
  EXPECT_EQ(Read(Record(Value::Scalar(DType::kFloat64, 2.0, {1, 1}))), std::nullopt);
  EXPECT_EQ(Read(Record(Value::Scalar(DType::kInt32, int32_t{2}, {1}))), std::nullopt);
  EXPECT_EQ(Read(Record(Value::CopyOf(DType::kFloat32, AsBytes("12345678"), {2}))), std::nullopt);
  EXPECT_EQ(Read(""), std::nullopt);
}

TEST(ScalarRecordTest, TrueChecksumsAreLeftToOthers) {
  const Value value = Value::Scalar(DType::kFloat64, 2.0, {1});
  EXPECT_EQ(Read(Record(value, {7, Mode::kTrain, 3, 1.5}, Checksum::kTrue)), std::nullopt);
}

// Whatever damage it does not see, ParseRecord() does not see either, and reads the same.
TEST(ScalarRecordTest, DamagedRecordsAreReadAsByParseRecord) {
  const std::string record = Record(Value::Scalar(DType::kFloat64, 2.0, {1}));
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_EQ(Read(std::string_view(record).substr(0, size)), std::nullopt) << size;
  }
  for (size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const std::optional<double> number = Read(damaged);
      const auto parsed = ParseWhole(damaged);
      if (!number) continue;
      ASSERT_TRUE(parsed.IsOk() && *parsed) << at;
      double whole = 0;
      ASSERT_EQ((*parsed)->content.size(), sizeof whole);
      std::memcpy(&whole, (*parsed)->content.data(), sizeof whole);
      EXPECT_THAT(number, Optional(NanSensitiveDoubleEq(whole))) << at;
    }
  }
}

// What it keeps of one record must not make it take another, damaged or of another step, for it.
TEST(ScalarRecordTest, ReadsOneRecordAfterAnotherAsEachByItself) {
  const Value value = Value::Scalar(DType::kFloat64, 2.0, {1});
  const std::string record = Record(value);
  ScalarReader reader;
  for (const int64_t step : {int64_t{3}, int64_t{4}, int64_t{1} << 34, int64_t{3}}) {
    EXPECT_TRUE(reader.Read(AsBytes(Record(value, {7, Mode::kEval, step, 0})))) << step;
  }
  for (size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_TRUE(reader.Read(AsBytes(record)));
      const auto read = reader.Read(AsBytes(damaged));
      EXPECT_EQ(read.has_value(), Read(damaged).has_value()) << at;
    }
  }
}

}  // namespace
}  // namespace smdebug::format::testing::scalar_record_test
