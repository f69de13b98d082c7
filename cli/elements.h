// The elements of a value one by one, whatever their type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json_writer.h"
#include "smdebug.hpp"

namespace smdebug::cli {

// Reads a value, which must outlive it.  Any threads at once.
class ElementReader {
 public:
  explicit ElementReader(const Value &value);

  size_t Size() const { return count_; }
  bool AreTexts() const { return dtype_ == DType::kString; }
  bool AreComplex() const { return dtype_ == DType::kComplex64 || dtype_ == DType::kComplex128; }

  // The number, or a complex number's real part; 0 for texts.  A long double holds each integer.
  long double Number(size_t index) const;
  // A complex number's imaginary part; 0 for others.
  long double Imaginary(size_t index) const;

  // For people: four digits, whole numbers in full, texts with quotes.
  std::string Text(size_t index) const;
  // Exactly; complex numbers are arrays of two.
  void ToJson(size_t index, JsonWriter *json) const;

 private:
  long double Part(size_t index) const;
  bool IsWhole() const;

  const DType dtype_;
  const unsigned char *const data_;
  const std::vector<std::string> texts_;
  size_t count_;
};

// "64 x 32", "scalar".
std::string ShapeText(const std::vector<int64_t> &shape);

// The elements as NumPy prints them, long ones with their ends alone unless `all`.
std::string ElementsText(const Value &value, bool all);

// The elements as nested arrays.
void ElementsToJson(const Value &value, JsonWriter *json);

}  // namespace smdebug::cli
