// Reading protobuf's wire form where it lies, without unpacking it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "format/wire_format.h"

namespace smdebug::format {

struct WireField {
  uint32_t number;
  WireType type;
};

// Walks over messages in bytes that lie in up to three parts.  The first fault ends the
// walk: every call after it fails, too.  Nothing is believed: no read goes past the
// message it is in, whatever the lengths say.
class WireCursor {
 public:
  using Parts = std::array<ByteSpan, 3>;

  // From offset `begin` to `end` of the parts in a row.  There may be fewer bytes than
  // `end` says; a read that would need them fails and NeedsMore().
  WireCursor(const Parts &parts, uint64_t begin, uint64_t end);

  // Why the walk ended, or NULL.
  const char *Fault() const { return fault_; }
  // Whether the fault is that the bytes at hand ended.
  bool NeedsMore() const { return needs_more_; }
  // Ends the walk; always false.  `fault` is a sentence that lives for ever.
  bool Fail(const char *fault);

  // Of the next byte, counted from the first part's first.
  uint64_t Offset() const { return run_end_offset_ - static_cast<uint64_t>(run_end_ - at_); }

  // The next field of the message; false at its end or upon a fault.  The field must
  // then be read or skipped.
  bool Next(WireField *field) {
    uint64_t tag = 0;
    if (!ShortVarint(&tag) && !LongTag(&tag)) return false;
    field->number = static_cast<uint32_t>(tag >> 3);
    field->type = static_cast<WireType>(tag & 7);
    return IsPossible(*field) || Fail("a field of the record has an impossible number or type");
  }

  // Each fails if `field` has another wire type.
  bool ReadVarint(WireField field, uint64_t *value) {
    return Expect(field, WireType::kVarint) && Varint(kVarintBytes, value);
  }
  bool ReadFixed32(WireField field, uint32_t *value);
  bool ReadFixed64(WireField field, uint64_t *value);
  // The bytes of a field, which must lie in one part.
  bool ReadBytes(WireField field, ByteSpan *bytes);
  // The length of a field of bytes, which start at the then Offset().
  bool ReadLength(WireField field, uint64_t *length) {
    return Expect(field, WireType::kBytes) && Varint(kShortVarintBytes, length) &&
           (*length <= AtHand() || *length <= Left() ||
            Fail("a field of the record is longer than what holds it"));
  }

  // Walks over the message in `field`: `on_field(WireField)` reads or skips each field
  // and returns whether to go on.
  template <class OnField>
  bool ReadMessage(WireField field, OnField on_field) {
    uint64_t length = 0;
    if (!ReadLength(field, &length)) return false;
    const uint64_t outer_end = end_;
    EndAt(Offset() + length);
    WireField inner{};
    while (Next(&inner)) {
      if (!on_field(inner)) return false;
    }
    if (fault_ != nullptr) return false;
    EndAt(outer_end);
    return true;
  }

  // Makes the message in `field` the one that is walked over; there is no way back.
  bool Descend(WireField field);

  bool Skip(WireField field);

  // Elements of a repeated number, packed or one by one: `read_one(WireField)` is called
  // with the wire type `element` for each.
  template <class ReadOne>
  bool ReadRepeated(WireField field, WireType element, ReadOne read_one) {
    if (field.type != WireType::kBytes) return read_one(field);
    uint64_t length = 0;
    if (!ReadLength(field, &length)) return false;
    const uint64_t outer_end = end_;
    EndAt(Offset() + length);
    while (Left() != 0) {
      if (!read_one(WireField{field.number, element})) return false;
    }
    EndAt(outer_end);
    return true;
  }

 private:
  static constexpr int kVarintBytes = 10;
  // Protobuf's own readers take tags and lengths of at most 32 bits.
  static constexpr int kShortVarintBytes = 5;

  static bool IsPossible(WireField field) {
    constexpr uint32_t kTypesInUse = 1U << 0 | 1U << 1 | 1U << 2 | 1U << 5;
    return field.number != 0 && (kTypesInUse >> static_cast<uint32_t>(field.type) & 1) != 0;
  }
  bool Expect(WireField field, WireType type) {
    return field.type == type || Fail("a field of the record has a wire type that is not its own");
  }

  // Up to the end of the message.
  uint64_t Left() const { return end_ - Offset(); }
  // What can be read before anything must be looked after.
  uint64_t AtHand() const { return static_cast<uint64_t>(stop_ - at_); }
  // Of all the bytes there are.
  uint64_t Available() const;
  void EndAt(uint64_t end) {
    end_ = end;
    stop_ = at_ + std::min(Left(), static_cast<uint64_t>(run_end_ - at_));
  }
  bool ShortVarint(uint64_t *value) {
    if (at_ == stop_ || static_cast<uint8_t>(*at_) >= 0x80) return false;
    *value = static_cast<uint8_t>(*at_++);
    return true;
  }
  bool Varint(int max_bytes, uint64_t *value) {
    return ShortVarint(value) || LongVarint(max_bytes, value);
  }
  bool LongVarint(int max_bytes, uint64_t *value);
  bool LongTag(uint64_t *tag);
  bool Fixed(size_t size, uint64_t *value);
  bool Byte(uint8_t *value);
  bool Advance(uint64_t count);
  // Moves to the next part that is not empty, once the present one is used up.
  bool NextRun();

  const std::byte *at_ = nullptr;
  const std::byte *stop_ = nullptr;  // the end of the run or of the message
  const std::byte *run_end_ = nullptr;
  uint64_t run_end_offset_ = 0;
  uint64_t end_;  // of the message
  const char *fault_ = nullptr;
  bool needs_more_ = false;
  size_t next_part_ = 0;
  Parts parts_;
};

}  // namespace smdebug::format
