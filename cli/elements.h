// Reads the elements of a value one by one, for all types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json_writer.h"
#include "smdebug.hpp"

namespace smdebug::cli {

// Reads a value, which must outlive the reader.  Safe from any thread.
class ElementReader {
 public:
  explicit ElementReader(const Value &value);

  size_t Size() const { return count_; }
  bool AreTexts() const { return dtype_ == DType::kString; }
  bool AreComplex() const { return dtype_ == DType::kComplex64 || dtype_ == DType::kComplex128; }

  // Returns the number, or the real part of a complex number; 0 for texts.  A long double holds
  // all 64-bit integers exactly.
  long double Number(size_t index) const;
  // Returns the imaginary part of a complex number; 0 for others.
  long double Imaginary(size_t index) const;

  // Returns a form for people: four digits, whole numbers in full, texts with quotes.
  std::string Text(size_t index) const;
  // Writes the exact value; complex numbers become arrays of two.
  void ToJson(size_t index, JsonWriter *json) const;

 private:
  long double Part(size_t index) const;
  bool IsWhole() const;

  const DType dtype_;
  const unsigned char *const data_;
  const std::vector<std::string> texts_;
  size_t count_;
};

// Returns "64 x 32" or "scalar".
std::string ShapeText(const std::vector<int64_t> &shape);

// Returns the elements as NumPy prints them.  Unless `all` is true, shows only both ends of long
// dimensions.
std::string ElementsText(const Value &value, bool all);

// Writes the elements as nested arrays.
void ElementsToJson(const Value &value, JsonWriter *json);

}  // namespace smdebug::cli
