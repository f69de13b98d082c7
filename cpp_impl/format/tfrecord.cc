#include "format/tfrecord.h"

#include "base/crc32c.h"
#include "base/strings.h"

namespace smdebug::format {
namespace {

constexpr size_t kLengthSize = 8;

template <class Number>
void Store(Number number, std::byte *out) {
  for (size_t i = 0; i < sizeof number; ++i) {
    out[i] = static_cast<std::byte>((number >> (8 * i)) & 0xFFU);
  }
}

template <class Number>
Number Load(const std::byte *bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i) {
    number |= static_cast<Number>(bytes[i]) << (8 * i);
  }
  return number;
}

}  // namespace

std::array<std::byte, kRecordHeaderSize> RecordHeader(uint64_t payload_size) {
  std::array<std::byte, kRecordHeaderSize> header;
  Store(payload_size, header.data());
  Store(MaskedCrc32c(Crc32c(ByteSpan(header).first(kLengthSize))), header.data() + kLengthSize);
  return header;
}

std::array<std::byte, kRecordFooterSize> RecordFooter(uint32_t footer) {
  std::array<std::byte, kRecordFooterSize> bytes;
  Store(footer, bytes.data());
  return bytes;
}

Result<uint64_t> ParseRecordHeader(ByteSpan header) {
  if (header.size() < kRecordHeaderSize) {
    return Status(Code::kCorruptData, "the record is cut inside its length field");
  }
  const auto stored = Load<uint32_t>(header.data() + kLengthSize);
  if (stored != MaskedCrc32c(Crc32c(header.first(kLengthSize)))) {
    return Status(Code::kCorruptData, "the record's length field has a wrong checksum");
  }
  const auto size = Load<uint64_t>(header.data());
  if (size > kMaxRecordPayload) {
    return Status(Code::kCorruptData,
                  StrCat("the record's length field says ", size, " bytes, which no reader takes"));
  }
  return size;
}

uint32_t ParseRecordFooter(ByteSpan footer) { return Load<uint32_t>(footer.data()); }

}  // namespace smdebug::format
