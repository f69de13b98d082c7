// Elements in float_val, int_val and so on, which other writers than the original use.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "format/event_reader.h"
#include "format/records.h"

namespace smdebug::format::testing::typed_fields_test {
namespace {

using tensor::DType;

template <class Number>
std::string Raw(std::initializer_list<Number> numbers) {
  std::string bytes;
  for (const Number number : numbers) {
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  return bytes;
}

std::string Varints(std::initializer_list<int64_t> numbers) {
  std::string bytes;
  for (const int64_t number : numbers) bytes += Varint(static_cast<uint64_t>(number));
  return bytes;
}

struct Typed {
  DType dtype;
  uint32_t field;
  std::string packed;
  std::string content;  // two elements
};

std::vector<Typed> AllTyped() {
  return {
      {DType::kFloat32, 5, Raw<float>({1, -2}), Raw<float>({1, -2})},
      {DType::kFloat64, 6, Raw<double>({1, -2}), Raw<double>({1, -2})},
      {DType::kInt32, 7, Varints({1, -2}), Raw<int32_t>({1, -2})},
      {DType::kInt16, 7, Varints({32767, -32768}), Raw<int16_t>({32767, -32768})},
      {DType::kInt8, 7, Varints({127, -128}), Raw<int8_t>({127, -128})},
      {DType::kUInt16, 7, Varints({0, 65535}), Raw<uint16_t>({0, 65535})},
      {DType::kUInt8, 7, Varints({0, 255}), Raw<uint8_t>({0, 255})},
      {DType::kComplex64, 9, Raw<float>({1, 2, 3, 4}), Raw<float>({1, 2, 3, 4})},
      {DType::kInt64, 10, Varints({1, -2}), Raw<int64_t>({1, -2})},
      {DType::kBool, 11, Varints({0, 2}), Raw<uint8_t>({0, 1})},
      {DType::kComplex128, 12, Raw<double>({1, 2, 3, 4}), Raw<double>({1, 2, 3, 4})},
      {DType::kFloat16, 13, Varints({0x3C00, 0xC000}), Raw<uint16_t>({0x3C00, 0xC000})},
      {DType::kBFloat16, 13, Varints({0x3F80, 0xC000}), Raw<uint16_t>({0x3F80, 0xC000})},
  };
}

std::string Head(DType dtype, uint64_t count) {
  return Number(1, static_cast<uint64_t>(tensor::DTypeToFile(dtype))) + Shape({count});
}

TEST(TypedFieldsTest, PackedElementsAreConverted) {
  for (const Typed &typed : AllTyped()) {
    const std::string record =
        TensorRecord(Head(typed.dtype, 2) + Bytes(typed.field, typed.packed));
    const auto parsed = ParseWhole(record);
    ASSERT_TRUE(parsed.IsOk() && parsed->has_value())
        << tensor::DTypeName(typed.dtype) << parsed.GetStatus().Message();
    EXPECT_EQ(AsText((*parsed)->content), typed.content) << tensor::DTypeName(typed.dtype);
    EXPECT_EQ((*parsed)->content.data(), (*parsed)->converted.data());
    const auto located = LocatePayload(AsBytes(record), record.size());
    EXPECT_TRUE(located.IsOk() && !located->has_value());
  }
}

TEST(TypedFieldsTest, ElementsMayComeOneByOneAndBeforeTheirType) {
  const std::string one_by_one = Number(7, 3) + Bytes(7, Varint(4)) + Number(7, 5);
  for (const std::string &record : {TensorRecord(Head(DType::kInt16, 3) + one_by_one),
                                    TensorRecord(one_by_one + Head(DType::kInt16, 3))}) {
    const auto parsed = ParseWhole(record);
    ASSERT_TRUE(parsed.IsOk() && parsed->has_value());
    EXPECT_EQ(AsText((*parsed)->content), Raw<int16_t>({3, 4, 5}));
  }
}

TEST(TypedFieldsTest, OtherCountsAreRefused) {
  for (const Typed &typed : AllTyped()) {
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{1} << 40}) {
      const auto parsed =
          ParseWhole(TensorRecord(Head(typed.dtype, count) + Bytes(typed.field, typed.packed)));
      EXPECT_EQ(parsed.GetStatus().GetCode(), Code::kCorruptData)
          << tensor::DTypeName(typed.dtype) << count;
    }
  }
}

TEST(TypedFieldsTest, FieldsOfAnotherTypeAreRefused) {
  for (const Typed &typed : AllTyped()) {
    for (const Typed &other : AllTyped()) {
      if (typed.field == other.field) continue;
      EXPECT_FALSE(
          ParseWhole(TensorRecord(Head(typed.dtype, 2) + Bytes(other.field, other.packed))).IsOk());
      EXPECT_FALSE(ParseWhole(TensorRecord(Head(typed.dtype, 2) + Bytes(typed.field, typed.packed) +
                                           Bytes(other.field, other.packed)))
                       .IsOk());
    }
    EXPECT_FALSE(ParseWhole(TensorRecord(Head(typed.dtype, 2) + Bytes(typed.field, typed.packed) +
                                         Bytes(4, typed.content)))
                     .IsOk());
  }
}

TEST(TypedFieldsTest, TwoFieldsDoNotMakeOneTensor) {
  for (const std::string &fields :
       {Number(7, 1) + Bytes(5, "1234"), Bytes(5, "1234") + Number(7, 1)}) {
    EXPECT_FALSE(ParseWhole(TensorRecord(Head(DType::kFloat32, 2) + fields)).IsOk());
  }
}

TEST(TypedFieldsTest, ElementsBeyondTheirTypeAreRefused) {
  const std::vector<std::pair<DType, int64_t>> beyond = {
      {DType::kInt8, 128},     {DType::kInt8, -129},
      {DType::kUInt8, -1},     {DType::kUInt8, 256},
      {DType::kInt16, 32768},  {DType::kUInt16, -1},
      {DType::kUInt16, 65536}, {DType::kInt32, int64_t{1} << 31}};
  for (const auto &[dtype, number] : beyond) {
    const auto parsed = ParseWhole(TensorRecord(Head(dtype, 1) + Bytes(7, Varints({number}))));
    ASSERT_FALSE(parsed.IsOk()) << tensor::DTypeName(dtype) << number;
    EXPECT_NE(parsed.GetStatus().Message().find("beyond its type"), std::string::npos);
  }
  EXPECT_FALSE(
      ParseWhole(TensorRecord(Head(DType::kFloat16, 1) + Bytes(13, Varints({65536})))).IsOk());
}

TEST(TypedFieldsTest, PackedElementsMustFillTheirField) {
  EXPECT_FALSE(ParseWhole(TensorRecord(Head(DType::kFloat32, 1) + Bytes(5, "12345"))).IsOk());
  EXPECT_FALSE(ParseWhole(TensorRecord(Head(DType::kFloat64, 1) + Bytes(6, "1234567"))).IsOk());
  EXPECT_FALSE(ParseWhole(TensorRecord(Head(DType::kInt32, 1) + Bytes(7, "\xFF"))).IsOk());
  EXPECT_FALSE(ParseWhole(TensorRecord(Head(DType::kFloat32, 1) + Number(5, 1))).IsOk());
}

}  // namespace
}  // namespace smdebug::format::testing::typed_fields_test
