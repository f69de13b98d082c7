// Columns of a table, laid out in memory as Arrow lays out arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"

namespace smdebug::tables {

enum class ColumnType : uint8_t {
  kText,      // UTF-8
  kCodes,     // texts as positions in a list of different texts
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
  // kText, kCodes and kBytes; the same text for `count` rows.  Requires Fits().
  void AddTexts(std::string_view text, size_t count = 1);
  // kInteger and kTime.
  void AddIntegers(int64_t number, size_t count = 1);
  // kNumber.
  void AddNumber(double number) {
    PadNumbers();
    NoteValid(1);
    numbers_.push_back(number);
  }
  void AddNumbers(std::span<const double> numbers);
  // kTime; adds a null where the number is `unknown`.
  void AddOptionals(std::span<const int64_t> numbers, int64_t unknown);
  // Each adds a null for what is unknown: an empty text or one that does not fit, NaN, nothing.
  void AddOptional(std::string_view text);
  void AddOptional(double number);
  void AddOptional(std::optional<int64_t> number);
  // kText, kCodes and kIntegers: adds the last `count` rows again.  Requires Fits() for what they
  // hold.
  void RepeatLast(size_t count);
  // kIntegers and kNumbers.  Require Fits().
  void AddList(std::span<const int64_t> elements);
  void AddList(std::span<const double> elements);

  // Reports whether it is a column of numbers without a number.  Such a column has no memory for
  // them until Finish().
  bool HasNoNumber() const { return type_ == ColumnType::kNumber && nulls_ == rows_; }
  // Declares that no row follows.  `zeros` are at least Rows() numbers if HasNoNumber().
  void Finish(std::shared_ptr<const double> zeros);

  // A bit for each row, 0 for a null; empty if no row is null.
  const std::vector<uint8_t> &Validity() const { return validity_; }
  // Where each row's text or list begins, and where the last one ends.  For kCodes, where each of
  // the different texts does.
  const std::vector<int32_t> &Offsets() const { return offsets_; }
  // The texts, codes, numbers or elements of lists.
  const void *Data() const;
  // The different texts of kCodes.
  const char *Texts() const { return text_.data(); }
  // The number of elements of all lists.
  size_t Elements() const { return integers_.size() + numbers_.size(); }

 private:
  void NoteValid(size_t count);
  // Nulls get a number when one follows.
  void PadNumbers() {
    if (numbers_.size() < rows_) numbers_.resize(rows_, 0);
  }
  void RepeatValidity(size_t first, size_t count);
  bool HasOffsets() const;
  std::string_view TextOf(size_t code) const;
  int32_t CodeOf(std::string_view text);

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  ColumnType type_;
  size_t rows_ = 0;
  size_t nulls_ = 0;
  std::vector<uint8_t> validity_;
  std::vector<int32_t> offsets_;
  std::string text_;
  std::vector<int32_t> codes_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> known_;  // the codes of texts
  std::vector<int64_t> integers_;
  std::vector<double> numbers_;
  std::shared_ptr<const double> zeros_;  // in place of `numbers_`
};

}  // namespace smdebug::tables
