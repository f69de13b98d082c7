// Frames an event: u64 length, masked CRC of the length, payload, u32.  Little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace smdebug::format {

inline constexpr size_t kRecordHeaderSize = 12;
inline constexpr size_t kRecordFooterSize = 4;

// The constant that the original writes instead of the payload's CRC in events/ files: the masked
// CRC of ten fixed letters.  The original's Trial accepts nothing else there.
inline constexpr uint32_t kConstantFooter = 0x062DC0B3;

// No protobuf reader can decode a longer record.
inline constexpr uint64_t kMaxRecordPayload = (uint64_t{1} << 31) - 1;

enum class Checksum { kConstant, kTrue };

std::array<std::byte, kRecordHeaderSize> RecordHeader(uint64_t payload_size);
std::array<std::byte, kRecordFooterSize> RecordFooter(uint32_t footer);

// Returns the payload's size from a header of kRecordHeaderSize bytes.  Fails with CORRUPT_DATA (a
// message without path) on a wrong CRC or an impossible size.
Result<uint64_t> ParseRecordHeader(ByteSpan header);
uint32_t ParseRecordFooter(ByteSpan footer);

}  // namespace smdebug::format
