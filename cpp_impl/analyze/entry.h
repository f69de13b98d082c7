// One record of a tensor, as an index file describes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"
#include "tensor/reduction.h"

namespace smdebug::analyze {

// The kind of an entry: the tensor, its shape, or one of its reductions.
class EntryKind {
 public:
  static EntryKind Raw() { return EntryKind(0); }
  static EntryKind Shape() { return EntryKind(1); }
  static EntryKind Of(tensor::Reduction reduction) {
    return EntryKind(static_cast<uint8_t>(2 + reduction.Index()));
  }
  std::optional<tensor::Reduction> AsReduction() const {
    if (number_ < 2) return {};
    return tensor::Reduction::FromIndex(number_ - size_t{2});
  }
  uint8_t Number() const { return number_; }
  bool operator==(const EntryKind &other) const { return number_ == other.number_; }
  bool operator<(const EntryKind &other) const { return number_ < other.number_; }

 private:
  explicit EntryKind(uint8_t number) : number_(number) {}
  uint8_t number_;
};

// The only element of a record, as its index file has it.
struct KnownNumber {
  double number = 0;  // rounded, if it is an integer of more than 53 bits
  tensor::DType dtype = tensor::DType::kInvalid;  // kInvalid: not known
  uint8_t rank = 0;                               // of the tensor, whose sizes are all 1
};

// The bytes of an element.
struct ElementBytes {
  std::array<std::byte, sizeof(double)> bytes;
  size_t size;

  ByteSpan Span() const { return ByteSpan(bytes).first(size); }
};

// Returns the element, or nothing if only the record says exactly which it is.
std::optional<ElementBytes> ElementOf(const KnownNumber &known);

// One record, or one saved shape, of a tensor.
struct Entry {
  int64_t step;  // of the mode that the entry is stored under
  int64_t global_step;
  uint64_t start;  // the record's start; for a shape, its index among the tensor's shapes
  uint32_t length;
  uint32_t crc32c;
  uint16_t worker;
  EntryKind kind;
  bool has_crc32c;
  // If it is not 0, the tensor's elements are in several records: one more than their index among
  // those of the tensor, and the entry describes the first one.
  uint32_t parts = 0;
  KnownNumber number = {};
  // When the first record of the file with a known number was made, in microseconds since 1970; 0
  // if none is known.
  int64_t file_time = 0;
};

// The records of a tensor that was too large for one, in order.
struct PartedRecord {
  struct Part {
    uint64_t start;
    uint64_t length;
    std::optional<uint32_t> crc32c;
  };
  std::vector<int64_t> shape;  // of the tensor
  std::vector<Part> parts;
};
using PartedRecordPtr = std::shared_ptr<const PartedRecord>;

}  // namespace smdebug::analyze
