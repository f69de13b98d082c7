#include "tables/column.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace smdebug::tables {
namespace {

constexpr size_t kBits = 8;

// Appends `count` bits of the same value after the first `rows` ones.
void AddBits(size_t rows, size_t count, bool value, std::vector<uint8_t> *bits) {
  bits->resize((rows + count + kBits - 1) / kBits, 0);
  if (!value) return;
  size_t row = rows;
  const size_t end = rows + count;
  const auto set = [&] { (*bits)[row / kBits] |= static_cast<uint8_t>(1U << (row % kBits)); };
  for (; row < end && row % kBits != 0; ++row) set();
  for (; row + kBits <= end; row += kBits) (*bits)[row / kBits] = 0xFF;
  for (; row < end; ++row) set();
}

}  // namespace

Column::Column(ColumnType type) : type_(type) {
  if (HasOffsets()) offsets_.push_back(0);
}

bool Column::HasOffsets() const {
  switch (type_) {
    case ColumnType::kInteger:
    case ColumnType::kNumber:
    case ColumnType::kTime: return false;
    default: return true;
  }
}

size_t Column::Size() const {
  return validity_.size() + (offsets_.size() + codes_.size()) * sizeof(int32_t) + text_.size() +
         integers_.size() * sizeof(int64_t) + numbers_.size() * sizeof(double);
}

void Column::ReserveLike(const Column &other) {
  const auto with_margin = [](size_t size) { return size + size / 8; };
  validity_.reserve(with_margin(other.validity_.size()));
  offsets_.reserve(with_margin(other.offsets_.size()));
  text_.reserve(with_margin(other.text_.size()));
  codes_.reserve(with_margin(other.codes_.size()));
  integers_.reserve(with_margin(other.integers_.size()));
  numbers_.reserve(with_margin(other.numbers_.size()));
}

bool Column::Fits(size_t elements) const {
  return elements <= kMostElements - text_.size() && elements <= kMostElements - Elements();
}

void Column::NoteValid(size_t count) {
  if (!validity_.empty()) AddBits(rows_, count, true, &validity_);
  rows_ += count;
}

void Column::AddNulls(size_t count) {
  if (count == 0) return;
  if (validity_.empty()) AddBits(0, rows_, true, &validity_);
  AddBits(rows_, count, false, &validity_);
  rows_ += count;
  nulls_ += count;
  if (type_ == ColumnType::kCodes) {
    codes_.resize(rows_, 0);
  } else if (HasOffsets()) {
    offsets_.insert(offsets_.end(), count, offsets_.back());
  } else if (type_ != ColumnType::kNumber) {
    integers_.resize(rows_, 0);
  }
}

std::string_view Column::TextOf(size_t code) const {
  const auto begin = static_cast<size_t>(offsets_[code]);
  return std::string_view(text_).substr(begin, static_cast<size_t>(offsets_[code + 1]) - begin);
}

int32_t Column::CodeOf(std::string_view text) {
  // Mostly a text repeats the last one, or texts come in the order in which they first came.
  const size_t texts = offsets_.size() - 1;
  const size_t last = codes_.empty() ? 0 : static_cast<size_t>(codes_.back());
  for (size_t guess = last; guess < std::min(last + 2, texts); ++guess) {
    if (TextOf(guess) == text) return static_cast<int32_t>(guess);
  }
  const auto found = known_.find(text);
  if (found != known_.end()) return found->second;
  text_.append(text);
  offsets_.push_back(static_cast<int32_t>(text_.size()));
  return known_.emplace(text, static_cast<int32_t>(texts)).first->second;
}

void Column::AddTexts(std::string_view text, size_t count) {
  NoteValid(count);
  if (type_ == ColumnType::kCodes) {
    if (count == 1) return codes_.push_back(CodeOf(text));
    if (count > 0) codes_.insert(codes_.end(), count, CodeOf(text));
    return;
  }
  if (count == 1) {
    text_.append(text);
    return offsets_.push_back(static_cast<int32_t>(text_.size()));
  }
  const size_t begin = text_.size();
  const size_t bytes = text.size() * count;
  text_.reserve(begin + bytes);
  // What is there already is copied, twice as much each time.
  if (bytes > 0) text_.append(text);
  while (text_.size() - begin < bytes) {
    text_.append(text_, begin, begin + bytes - text_.size());
  }
  const size_t first = offsets_.size();
  offsets_.resize(first + count);
  auto end = static_cast<int32_t>(begin);
  for (size_t i = 0; i < count; ++i) {
    end += static_cast<int32_t>(text.size());
    offsets_[first + i] = end;
  }
}

void Column::AddIntegers(int64_t number, size_t count) {
  NoteValid(count);
  if (count == 1) return integers_.push_back(number);
  integers_.insert(integers_.end(), count, number);
}

void Column::AddNumbers(std::span<const double> numbers) {
  PadNumbers();
  NoteValid(numbers.size());
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
}

void Column::AddOptionals(std::span<const int64_t> numbers, int64_t unknown) {
  if (std::find(numbers.begin(), numbers.end(), unknown) == numbers.end()) {
    NoteValid(numbers.size());
    integers_.insert(integers_.end(), numbers.begin(), numbers.end());
    return;
  }
  for (const int64_t number : numbers) number == unknown ? AddNulls() : AddIntegers(number);
}

void Column::AddOptional(std::string_view text) {
  text.empty() || !Fits(text.size()) ? AddNulls() : AddTexts(text);
}

void Column::AddOptional(double number) { std::isnan(number) ? AddNulls() : AddNumber(number); }

void Column::AddOptional(std::optional<int64_t> number) {
  number ? AddIntegers(*number) : AddNulls();
}

void Column::AddList(std::span<const int64_t> elements) {
  NoteValid(1);
  integers_.insert(integers_.end(), elements.begin(), elements.end());
  offsets_.push_back(static_cast<int32_t>(integers_.size()));
}

void Column::AddList(std::span<const double> elements) {
  NoteValid(1);
  numbers_.insert(numbers_.end(), elements.begin(), elements.end());
  offsets_.push_back(static_cast<int32_t>(numbers_.size()));
}

void Column::RepeatValidity(size_t first, size_t count) {
  if (nulls_ == 0) return NoteValid(count);
  for (size_t row = first; row < first + count; ++row) {
    const bool is_valid = (validity_[row / kBits] >> (row % kBits) & 1) != 0;
    AddBits(rows_++, 1, is_valid, &validity_);
    nulls_ += is_valid ? 0 : 1;
  }
}

void Column::RepeatLast(size_t count) {
  const size_t first = rows_ - count;
  if (type_ == ColumnType::kCodes) {
    RepeatValidity(first, count);
    codes_.resize(rows_);
    std::copy_n(codes_.begin() + static_cast<std::ptrdiff_t>(first), count,
                codes_.begin() + static_cast<std::ptrdiff_t>(first + count));
    return;
  }
  const int32_t begin = offsets_[first];
  const int32_t size = offsets_.back() - begin;
  RepeatValidity(first, count);
  const auto start = static_cast<size_t>(begin);
  const auto bytes = static_cast<size_t>(size);
  if (type_ == ColumnType::kText) {
    text_.append(text_, start, bytes);
  } else {
    const size_t before = integers_.size();
    integers_.resize(before + bytes);
    std::copy_n(integers_.begin() + begin, size,
                integers_.begin() + static_cast<std::ptrdiff_t>(before));
  }
  const size_t rows = offsets_.size();
  offsets_.resize(rows + count);
  for (size_t i = 0; i < count; ++i) offsets_[rows + i] = offsets_[first + 1 + i] + size;
}

void Column::Finish(std::shared_ptr<const double> zeros) {
  if (type_ != ColumnType::kNumber) return;
  if (HasNoNumber()) {
    zeros_ = std::move(zeros);
  } else {
    PadNumbers();
  }
}

const void *Column::Data() const {
  switch (type_) {
    case ColumnType::kText:
    case ColumnType::kBytes: return text_.data();
    case ColumnType::kCodes: return codes_.data();
    case ColumnType::kNumber: return zeros_ ? zeros_.get() : numbers_.data();
    case ColumnType::kNumbers: return numbers_.data();
    default: return integers_.data();
  }
}

}  // namespace smdebug::tables
