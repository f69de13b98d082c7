#include "tables/column.h"

#include <cmath>

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
  return validity_.size() + offsets_.size() * sizeof(int32_t) + text_.size() +
         integers_.size() * sizeof(int64_t) + numbers_.size() * sizeof(double);
}

void Column::ReserveLike(const Column &other) {
  const auto with_margin = [](size_t size) { return size + size / 8; };
  validity_.reserve(with_margin(other.validity_.size()));
  offsets_.reserve(with_margin(other.offsets_.size()));
  text_.reserve(with_margin(other.text_.size()));
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
  if (HasOffsets()) {
    offsets_.insert(offsets_.end(), count, offsets_.back());
  } else if (type_ == ColumnType::kNumber) {
    numbers_.resize(rows_, 0);
  } else {
    integers_.resize(rows_, 0);
  }
}

void Column::AddTexts(std::string_view text, size_t count) {
  NoteValid(count);
  for (size_t i = 0; i < count; ++i) {
    text_.append(text);
    offsets_.push_back(static_cast<int32_t>(text_.size()));
  }
}

void Column::AddIntegers(int64_t number, size_t count) {
  NoteValid(count);
  integers_.insert(integers_.end(), count, number);
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

const void *Column::Data() const {
  switch (type_) {
    case ColumnType::kText:
    case ColumnType::kBytes: return text_.data();
    case ColumnType::kNumber:
    case ColumnType::kNumbers: return numbers_.data();
    default: return integers_.data();
  }
}

}  // namespace smdebug::tables
