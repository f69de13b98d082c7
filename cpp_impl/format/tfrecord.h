// The frame around an event: u64 length, masked CRC of the length, payload, u32.
// Little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace smdebug::format {

inline constexpr size_t kRecordHeaderSize = 12;
inline constexpr size_t kRecordFooterSize = 4;

// What the original puts in place of the payload's CRC in events/ files, and the only
// thing its Trial accepts there: the masked CRC of ten fixed letters.
inline constexpr uint32_t kConstantFooter = 0x062DC0B3;

// A longer record cannot be decoded by any protobuf reader.
inline constexpr uint64_t kMaxRecordPayload = (uint64_t{1} << 31) - 1;

enum class Checksum { kConstant, kTrue };

std::array<std::byte, kRecordHeaderSize> RecordHeader(uint64_t payload_size);
std::array<std::byte, kRecordFooterSize> RecordFooter(uint32_t footer);

// The payload's size from a header of kRecordHeaderSize bytes.  Fails with a sentence
// without path (CORRUPT_DATA) on a wrong CRC or an impossible size.
Result<uint64_t> ParseRecordHeader(ByteSpan header);
uint32_t ParseRecordFooter(ByteSpan footer);

}  // namespace smdebug::format
