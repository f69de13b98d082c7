// Columns of a table, laid out in memory as Arrow lays out arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace smdebug::tables {

enum class ColumnType : uint8_t {
  kText,      // UTF-8
  kInteger,   // int64
  kNumber,    // float64
  kTime,      // microseconds since 1970, UTC
  kIntegers,  // lists of int64
  kNumbers,   // lists of float64
  kBytes,
};

// For one thread at a time.
class Column {
 public:
  // The most bytes of texts, or elements of lists, that a column holds.
  static constexpr size_t kMostElements = INT32_MAX;

  explicit Column(ColumnType type);

  ColumnType Type() const { return type_; }
  size_t Rows() const { return rows_; }
  size_t Nulls() const { return nulls_; }
  // The memory that the rows need.
  size_t Size() const;
  // Makes room for about as much as another column holds.
  void ReserveLike(const Column &other);
  // Returns true if a text or list of this many elements still fits.
  bool Fits(size_t elements) const;

  void AddNulls(size_t count = 1);
  // kText and kBytes; the same text for `count` rows.  Requires Fits().
  void AddTexts(std::string_view text, size_t count = 1);
  // kInteger and kTime.
  void AddIntegers(int64_t number, size_t count = 1);
  // kNumber.
  void AddNumber(double number) {
    NoteValid(1);
    numbers_.push_back(number);
  }
  // Each adds a null for what is unknown: an empty text or one that does not fit, NaN, nothing.
  void AddOptional(std::string_view text);
  void AddOptional(double number);
  void AddOptional(std::optional<int64_t> number);
  // kIntegers and kNumbers.  Require Fits().
  void AddList(std::span<const int64_t> elements);
  void AddList(std::span<const double> elements);

  // A bit for each row, 0 for a null; empty if no row is null.
  const std::vector<uint8_t> &Validity() const { return validity_; }
  // Where each row's text or list begins, and where the last one ends.
  const std::vector<int32_t> &Offsets() const { return offsets_; }
  // The texts, numbers or elements of lists.
  const void *Data() const;
  // The number of elements of all lists.
  size_t Elements() const { return integers_.size() + numbers_.size(); }

 private:
  void NoteValid(size_t count);
  bool HasOffsets() const;

  ColumnType type_;
  size_t rows_ = 0;
  size_t nulls_ = 0;
  std::vector<uint8_t> validity_;
  std::vector<int32_t> offsets_;
  std::string text_;
  std::vector<int64_t> integers_;
  std::vector<double> numbers_;
};

}  // namespace smdebug::tables
