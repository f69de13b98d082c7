#include "format/record_head.h"

#include <bit>
#include <cstring>

#include "format/tfrecord.h"
#include "format/wire_cursor.h"
#include "format/wire_format.h"
#include "tensor/view.h"

namespace smdebug::format {
namespace {

bool ReadSize(WireCursor &cursor, WireField dim, std::vector<int64_t> *shape) {
  int64_t size = 0;
  const bool is_read = cursor.ReadMessage(dim, [&](WireField field) {
    if (field.number != dim_field::kSize) return cursor.Skip(field);
    uint64_t value = 0;
    if (!cursor.ReadVarint(field, &value)) return false;
    size = static_cast<int64_t>(value);
    return size >= 0;
  });
  if (!is_read || shape->size() == tensor::kMaxRank) return false;
  shape->push_back(size);
  return true;
}

bool ReadShape(WireCursor &cursor, WireField field, std::vector<int64_t> *shape) {
  return cursor.ReadMessage(field, [&](WireField inner) {
    return inner.number == shape_field::kDim ? ReadSize(cursor, inner, shape) : cursor.Skip(inner);
  });
}

// Reads a field of the tensor.  Returns false at its elements.
bool ReadTensorField(WireCursor &cursor, WireField field, RecordHead *head) {
  if (field.number == tensor_field::kShape) return ReadShape(cursor, field, &head->shape);
  if (field.number != tensor_field::kDtype) {
    return field.number != tensor_field::kContent && cursor.Skip(field);
  }
  uint64_t number = 0;
  if (!cursor.ReadVarint(field, &number)) return false;
  const auto dtype = tensor::DTypeFromFile(static_cast<int64_t>(number));
  if (dtype) head->dtype = *dtype;
  return dtype.has_value();
}

bool ReadTime(WireCursor &cursor, WireField field, RecordHead *head) {
  uint64_t bits = 0;
  if (!cursor.ReadFixed64(field, &bits)) return false;
  head->wall_time = std::bit_cast<double>(bits);
  return true;
}

}  // namespace

// The time is the first field of all records that this library and the original write.
std::optional<double> ReadWallTime(ByteSpan first_bytes) {
  constexpr auto kTag = static_cast<std::byte>(event_field::kWallTime << 3 |
                                               static_cast<uint32_t>(WireType::kFixed64));
  if (first_bytes.size() < kRecordHeaderSize + 1 + sizeof(double)) return {};
  if (first_bytes[kRecordHeaderSize] != kTag) return {};
  double time = 0;
  std::memcpy(&time, &first_bytes[kRecordHeaderSize + 1], sizeof time);
  return time;
}

std::optional<RecordHead> ReadRecordHead(ByteSpan first_bytes, uint64_t record_size) {
  constexpr uint64_t kFrameSize = kRecordHeaderSize + kRecordFooterSize;
  if (record_size < kFrameSize || first_bytes.size() < kRecordHeaderSize) return {};
  const auto size = ParseRecordHeader(first_bytes.first(kRecordHeaderSize));
  if (!size.IsOk() || *size != record_size - kFrameSize) return {};
  WireCursor cursor({first_bytes, {}, {}}, kRecordHeaderSize, kRecordHeaderSize + *size);
  RecordHead head;
  bool is_in_value = false;
  bool is_in_tensor = false;
  WireField field{};
  while (cursor.Next(&field)) {
    bool goes_on = true;
    if (is_in_tensor) {
      goes_on = ReadTensorField(cursor, field, &head);
    } else if (is_in_value && field.number == value_field::kTensor) {
      is_in_tensor = goes_on = cursor.Descend(field);
    } else if (!is_in_value && field.number == event_field::kWallTime) {
      goes_on = ReadTime(cursor, field, &head);
    } else if (!is_in_value && field.number == event_field::kSummary) {
      goes_on = cursor.Descend(field) && cursor.Next(&field) &&
                field.number == summary_field::kValue && cursor.Descend(field);
      is_in_value = goes_on;
    } else {
      goes_on = cursor.Skip(field);
    }
    if (!goes_on) break;
  }
  const bool is_at_elements = is_in_tensor && field.number == tensor_field::kContent;
  if (!is_at_elements || cursor.Fault() != nullptr) return {};
  if (head.dtype == tensor::DType::kInvalid) return {};
  return head;
}

}  // namespace smdebug::format
