#include "format/wire_cursor.h"

#include <algorithm>
#include <limits>

namespace smdebug::format {

WireCursor::WireCursor(const Parts &parts, uint64_t begin, uint64_t end)
    : end_(end), parts_(parts) {
  if (begin > end) {
    Fail("the record is too short");
  } else {
    Advance(begin);
  }
}

bool WireCursor::Fail(const char *fault) {
  if (fault_ == nullptr) fault_ = fault;
  stop_ = at_;
  return false;
}

bool WireCursor::NextRun() {
  while (at_ == run_end_) {
    if (next_part_ == parts_.size()) {
      needs_more_ = true;
      return Fail("the record is cut");
    }
    const ByteSpan run = parts_[next_part_++];
    at_ = run.data();
    run_end_ = run.data() + run.size();
    run_end_offset_ += run.size();
  }
  EndAt(end_);
  return true;
}

uint64_t WireCursor::Available() const {
  auto available = static_cast<uint64_t>(run_end_ - at_);
  for (size_t i = next_part_; i < parts_.size(); ++i) available += parts_[i].size();
  return available;
}

bool WireCursor::Byte(uint8_t *value) {
  if (fault_ != nullptr) return false;
  if (Left() == 0) return Fail("a number in the record is cut");
  if (at_ == run_end_ && !NextRun()) return false;
  *value = static_cast<uint8_t>(*at_++);
  return true;
}

bool WireCursor::LongVarint(int max_bytes, uint64_t *value) {
  uint64_t number = 0;
  for (int i = 0; i < max_bytes; ++i) {
    uint8_t byte = 0;
    if (!Byte(&byte)) return false;
    // The tenth byte has room for one bit.
    if (i == kVarintBytes - 1 && byte > 1) break;
    number |= static_cast<uint64_t>(byte & 0x7FU) << (7 * i);
    if (byte < 0x80) {
      *value = number;
      return true;
    }
  }
  return Fail("a number in the record is too long");
}

bool WireCursor::LongTag(uint64_t *tag) {
  if (fault_ != nullptr || Left() == 0 || !LongVarint(kShortVarintBytes, tag)) return false;
  return *tag <= std::numeric_limits<uint32_t>::max() ||
         Fail("a field of the record has an impossible number or type");
}

bool WireCursor::ReadBytes(WireField field, ByteSpan *bytes) {
  uint64_t length = 0;
  if (!ReadLength(field, &length)) return false;
  if (length > AtHand()) {
    if (at_ == run_end_ && !NextRun()) return false;
    if (length > AtHand()) {
      needs_more_ = length > Available();
      return Fail("a field of the record lies across two parts of it");
    }
  }
  *bytes = {at_, static_cast<size_t>(length)};
  at_ += length;
  return true;
}

bool WireCursor::Fixed(size_t size, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < size; ++i) {
    uint8_t byte = 0;
    if (!Byte(&byte)) return false;
    *value |= static_cast<uint64_t>(byte) << (8 * i);
  }
  return true;
}

bool WireCursor::ReadFixed32(WireField field, uint32_t *value) {
  uint64_t wide = 0;
  if (!Expect(field, WireType::kFixed32) || !Fixed(sizeof *value, &wide)) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}

bool WireCursor::ReadFixed64(WireField field, uint64_t *value) {
  return Expect(field, WireType::kFixed64) && Fixed(sizeof *value, value);
}

bool WireCursor::Descend(WireField field) {
  uint64_t length = 0;
  if (!ReadLength(field, &length)) return false;
  EndAt(Offset() + length);
  return true;
}

bool WireCursor::Skip(WireField field) {
  uint64_t value = 0;
  switch (field.type) {
    case WireType::kVarint: return Varint(kVarintBytes, &value);
    case WireType::kFixed64: value = sizeof(uint64_t); break;
    case WireType::kFixed32: value = sizeof(uint32_t); break;
    case WireType::kBytes:
      if (!ReadLength(field, &value)) return false;
      break;
  }
  if (value > Left()) return Fail("a field of the record is longer than what holds it");
  return Advance(value);
}

bool WireCursor::Advance(uint64_t count) {
  while (count != 0) {
    if (at_ == run_end_ && !NextRun()) return false;
    const uint64_t step = std::min(count, static_cast<uint64_t>(run_end_ - at_));
    at_ += step;
    count -= step;
  }
  return true;
}

}  // namespace smdebug::format
