// Reads protobuf's wire format in place, without unpacking it.
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

// Walks over messages in bytes that lie in up to three parts.  The first fault stops the walk:
// every later call fails, too.  No input is trusted: whatever the lengths say, no read leaves its
// message.
class WireCursor {
 public:
  using Parts = std::array<ByteSpan, 3>;

  // Starts at offset `begin` of the concatenated parts and stops at `end`.  The parts may have
  // fewer bytes than `end` says; a read that needs the missing bytes fails, and NeedsMore() becomes
  // true.
  WireCursor(const Parts &parts, uint64_t begin, uint64_t end);

  // Returns why the walk stopped, or NULL.
  const char *Fault() const { return fault_; }
  // Returns true if the fault is that the available bytes ended.
  bool NeedsMore() const { return needs_more_; }
  // Stops the walk.  Always returns false.  `fault` is a sentence with static lifetime.
  bool Fail(const char *fault);

  // Returns the offset of the next byte, relative to the first part's first byte.
  uint64_t Offset() const { return run_end_offset_ - static_cast<uint64_t>(run_end_ - at_); }

  // Reads the next field of the message.  Returns false at its end or on a fault.  The caller must
  // then read or skip the field.
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
  // Reads the bytes of a field, which must lie in one part.
  bool ReadBytes(WireField field, ByteSpan *bytes);
  // Reads the length of a field of bytes.  The bytes start at the new Offset().
  bool ReadLength(WireField field, uint64_t *length) {
    return Expect(field, WireType::kBytes) && Varint(kShortVarintBytes, length) &&
           (*length <= AtHand() || *length <= Left() ||
            Fail("a field of the record is longer than what holds it"));
  }

  // Walks over the message in `field`: `on_field(WireField)` reads or skips each field, and returns
  // whether to continue.
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

  // Makes the message in `field` the current message; there is no way back.
  bool Descend(WireField field);

  bool Skip(WireField field);

  // Reads the elements of a repeated number, packed or one by one.  Calls `read_one(WireField)`
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
  // Protobuf's own readers accept tags and lengths of at most 32 bits.
  static constexpr int kShortVarintBytes = 5;

  static bool IsPossible(WireField field) {
    constexpr uint32_t kTypesInUse = 1U << 0 | 1U << 1 | 1U << 2 | 1U << 5;
    return field.number != 0 && (kTypesInUse >> static_cast<uint32_t>(field.type) & 1) != 0;
  }
  bool Expect(WireField field, WireType type) {
    return field.type == type || Fail("a field of the record has a wire type that is not its own");
  }

  // Returns the number of bytes up to the end of the message.
  uint64_t Left() const { return end_ - Offset(); }
  // Returns how many bytes can be read before a further check.
  uint64_t AtHand() const { return static_cast<uint64_t>(stop_ - at_); }
  // Returns how many bytes are left in all parts.
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
  // Moves to the next non-empty part once the current one is used up.
  bool NextRun();

  const std::byte *at_ = nullptr;
  const std::byte *stop_ = nullptr;  // the end of the run or of the message
  const std::byte *run_end_ = nullptr;
  uint64_t run_end_offset_ = 0;
  uint64_t end_;  // the end of the message
  const char *fault_ = nullptr;
  bool needs_more_ = false;
  size_t next_part_ = 0;
  Parts parts_;
};

}  // namespace smdebug::format
