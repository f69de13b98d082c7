#include "elements.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "numbers.h"
#include "text.h"

namespace smdebug::cli {
namespace {

template <class T>
T Load(const unsigned char *data, size_t index) {
  T element;
  std::memcpy(&element, data + index * sizeof(T), sizeof(T));
  return element;
}

// Decodes a number in the layout of IEEE 754 with these numbers of exponent and mantissa bits.
double SmallFloat(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const uint32_t all_ones = (1U << exponent_bits) - 1;
  const uint32_t exponent = (bits >> mantissa_bits) & all_ones;
  const int bias = static_cast<int>(all_ones >> 1U);
  double number = 0;
  if (exponent == all_ones) {
    number = mantissa == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    number = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    number = std::ldexp(mantissa + (1U << mantissa_bits),
                        static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return (bits >> (exponent_bits + mantissa_bits)) != 0 ? -number : number;
}

// Decodes a format without infinities: the largest exponent encodes numbers too, and only the
// largest mantissa with it is NaN.
double Float8E4M3Fn(uint8_t bits) {
  if ((bits & 0x7FU) == 0x7F) return std::nan("");
  if ((bits & 0x78U) != 0x78) return SmallFloat(bits, 4, 3);
  const double number = std::ldexp((bits & 7U) + 8U, 5);
  return (bits & 0x80U) != 0 ? -number : number;
}

size_t CountOf(const Value &value) {
  size_t count = 1;
  for (const int64_t size : value.Shape()) count *= static_cast<size_t>(size);
  return count;
}

}  // namespace

ElementReader::ElementReader(const Value &value)
    : dtype_(value.DType()),
      data_(static_cast<const unsigned char *>(value.Data())),
      texts_(dtype_ == DType::kString ? value.Strings() : std::vector<std::string>()),
      count_(CountOf(value)) {}

// Returns the number at an index; a complex number counts as two.
long double ElementReader::Part(size_t index) const {
  switch (dtype_) {
    case DType::kFloat16: return SmallFloat(Load<uint16_t>(data_, index), 5, 10);
    case DType::kBFloat16: return SmallFloat(Load<uint16_t>(data_, index), 8, 7);
    case DType::kFloat8E5M2: return SmallFloat(data_[index], 5, 2);
    case DType::kFloat8E4M3FN: return Float8E4M3Fn(data_[index]);
    case DType::kComplex64:
    case DType::kFloat32: return Load<float>(data_, index);
    case DType::kComplex128:
    case DType::kFloat64: return Load<double>(data_, index);
    case DType::kInt8: return Load<int8_t>(data_, index);
    case DType::kInt16: return Load<int16_t>(data_, index);
    case DType::kInt32: return Load<int32_t>(data_, index);
    case DType::kInt64: return static_cast<long double>(Load<int64_t>(data_, index));
    case DType::kBool:
    case DType::kUInt8: return data_[index];
    case DType::kUInt16: return Load<uint16_t>(data_, index);
    case DType::kUInt32: return Load<uint32_t>(data_, index);
    case DType::kUInt64: return static_cast<long double>(Load<uint64_t>(data_, index));
    default: return 0;
  }
}

long double ElementReader::Number(size_t index) const {
  return Part(AreComplex() ? index * 2 : index);
}

long double ElementReader::Imaginary(size_t index) const {
  return AreComplex() ? Part(index * 2 + 1) : 0;
}

bool ElementReader::IsWhole() const { return dtype_ >= DType::kInt8 && dtype_ <= DType::kUInt64; }

std::string ElementReader::Text(size_t index) const {
  if (AreTexts()) return "'" + Printable(texts_[index]) + "'";
  if (dtype_ == DType::kBool) return data_[index] != 0 ? "true" : "false";
  const long double number = Number(index);
  if (IsWhole()) {
    return number < 0 ? std::to_string(static_cast<int64_t>(number))
                      : std::to_string(static_cast<uint64_t>(number));
  }
  std::string real = Short(static_cast<double>(number));
  if (!AreComplex()) return real;
  const std::string imaginary = Short(static_cast<double>(Imaginary(index)));
  return real + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

void ElementReader::ToJson(size_t index, JsonWriter *json) const {
  const auto part = [&](long double number) {
    // The fewest digits for the type: 0.1, not the digits of 0.1f as a double.
    const bool is_double = dtype_ == DType::kFloat64 || dtype_ == DType::kComplex128;
    json->Raw(is_double ? JsonNumber(static_cast<double>(number))
                        : JsonNumber(static_cast<float>(number)));
  };
  if (AreTexts()) {
    json->Text(texts_[index]);
  } else if (dtype_ == DType::kBool || IsWhole()) {
    json->Raw(Text(index));
  } else if (AreComplex()) {
    json->BeginArray();
    part(Number(index));
    part(Imaginary(index));
    json->EndArray();
  } else {
    part(Number(index));
  }
}

std::string ShapeText(const std::vector<int64_t> &shape) {
  if (shape.empty()) return "scalar";
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return Join(sizes, "x");
}

void ElementsToJson(const Value &value, JsonWriter *json) {
  const ElementReader reader(value);
  const std::vector<int64_t> shape = value.Shape();
  size_t next = 0;
  const auto nest = [&](const auto &self, size_t depth) -> void {
    if (depth == shape.size()) {
      reader.ToJson(next++, json);
      return;
    }
    json->BeginArray();
    for (int64_t i = 0; i < shape[depth]; ++i) self(self, depth + 1);
    json->EndArray();
  };
  nest(nest, 0);
}

}  // namespace smdebug::cli
