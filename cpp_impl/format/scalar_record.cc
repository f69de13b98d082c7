#include "format/scalar_record.h"

#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/mode.h"
#include "base/strings.h"
#include "format/plain_text.h"
#include "format/tfrecord.h"
#include "format/wire_format.h"
#include "tensor/dtype.h"

namespace smdebug::format {
namespace {

// Reads fields in the order in which the writer puts them.  After a field other than the requested
// one, it reads nothing more.
class Fields {
 public:
  explicit Fields(ByteSpan bytes) : rest_(bytes) {}

  bool IsGood() const { return is_good_; }
  bool IsAtEnd() const { return is_good_ && rest_.empty(); }

  bool NextIs(uint32_t number, WireType type) const {
    return !rest_.empty() && rest_.front() == TagOf(number, type);
  }

  uint64_t Number(uint32_t number) { return Take(number, WireType::kVarint) ? Varint() : 0; }

  // Returns the content of a field of bytes.
  ByteSpan Bytes(uint32_t number) {
    if (!Take(number, WireType::kBytes)) return {};
    return First(Varint());
  }

  double Double(uint32_t number) {
    double value = 0;
    const ByteSpan bytes = Take(number, WireType::kFixed64) ? First(sizeof value) : ByteSpan();
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  // All field numbers here are at most 15.
  static std::byte TagOf(uint32_t number, WireType type) {
    return static_cast<std::byte>(number << 3 | static_cast<uint32_t>(type));
  }

  bool Take(uint32_t number, WireType type) {
    is_good_ = is_good_ && NextIs(number, type);
    if (is_good_) rest_ = rest_.subspan(1);
    return is_good_;
  }

  uint64_t Varint() {
    constexpr int kMostBits = 35;
    uint64_t value = 0;
    for (int shift = 0; shift < kMostBits && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    is_good_ = false;
    return 0;
  }

  ByteSpan First(uint64_t size) {
    is_good_ = is_good_ && size <= rest_.size();
    if (!is_good_) return {};
    const ByteSpan first = rest_.first(size);
    rest_ = rest_.subspan(size);
    return first;
  }

  ByteSpan rest_;
  bool is_good_ = true;
};

// Returns true if the shape is () or (1).
bool IsOfOne(ByteSpan shape) {
  if (shape.empty()) return true;
  Fields dims(shape);
  Fields dim(dims.Bytes(shape_field::kDim));
  const bool is_one = dim.Number(dim_field::kSize) == 1;
  dim.Bytes(dim_field::kName);
  return is_one && dims.IsAtEnd() && dim.IsAtEnd();
}

template <class Number>
std::optional<double> NumberIn(ByteSpan content) {
  Number number;
  if (content.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, content.data(), sizeof number);
  return static_cast<double>(number);
}

std::optional<double> NumberOf(ByteSpan tensor) {
  Fields fields(tensor);
  const auto dtype = static_cast<int64_t>(fields.Number(tensor_field::kDtype));
  const bool is_of_one = IsOfOne(fields.Bytes(tensor_field::kShape));
  const ByteSpan content = fields.Bytes(tensor_field::kContent);
  if (!fields.IsAtEnd() || !is_of_one) return std::nullopt;
  const auto is = [dtype](tensor::DType type) { return dtype == tensor::DTypeToFile(type); };
  if (is(tensor::DType::kFloat32)) return NumberIn<float>(content);
  if (is(tensor::DType::kFloat64)) return NumberIn<double>(content);
  if (is(tensor::DType::kInt64)) return NumberIn<int64_t>(content);
  return std::nullopt;
}

// Returns the number that comes next under this name, or -1 if there is none.  Does not use
// ParseInt(), which accepts spaces that ParseRecord() rejects.
int64_t NextNumber(Fields &plugins, std::string_view name) {
  Fields plugin(plugins.Bytes(metadata_field::kPlugin));
  const bool has_name = AsText(plugin.Bytes(plugin_field::kName)) == name;
  const std::string_view text = AsText(plugin.Bytes(plugin_field::kContent));
  if (!has_name || !plugin.IsAtEnd()) return -1;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

}  // namespace

bool ScalarReader::IsOfMode(ByteSpan metadata) {
  if (!metadata.empty() && metadata.size() == metadata_size_ &&
      std::memcmp(metadata.data(), metadata_.data(), metadata_size_) == 0) {
    return true;
  }
  Fields plugins(metadata);
  const int64_t mode_step = NextNumber(plugins, "mode_step");
  const int64_t mode = NextNumber(plugins, "mode");
  const bool is_of_mode = plugins.IsAtEnd() && mode_step >= 0 && ModeFromNumber(mode);
  if (is_of_mode && metadata.size() <= metadata_.size()) {
    std::memcpy(metadata_.data(), metadata.data(), metadata.size());
    metadata_size_ = metadata.size();
  }
  return is_of_mode;
}

std::optional<ScalarRecord> ScalarReader::Read(ByteSpan record) {
  constexpr size_t kFrame = kRecordHeaderSize + kRecordFooterSize;
  if (record.size() < kFrame) return std::nullopt;
  const auto size = ParseRecordHeader(record.first(kRecordHeaderSize));
  if (!size.IsOk() || *size != record.size() - kFrame) return std::nullopt;
  // Any other footer needs a checksum over the payload.
  if (ParseRecordFooter(record.last(kRecordFooterSize)) != kConstantFooter) return std::nullopt;

  ScalarRecord read;
  Fields event(record.subspan(kRecordHeaderSize, *size));
  if (event.NextIs(event_field::kWallTime, WireType::kFixed64)) {
    read.wall_time = event.Double(event_field::kWallTime);
  }
  if (event.NextIs(event_field::kStep, WireType::kVarint)) event.Number(event_field::kStep);
  Fields summary(event.Bytes(event_field::kSummary));
  Fields value(summary.Bytes(summary_field::kValue));
  const std::string_view name = AsText(value.Bytes(value_field::kTag));
  const ByteSpan tensor = value.Bytes(value_field::kTensor);
  const ByteSpan metadata = value.Bytes(value_field::kMetadata);
  if (!event.IsAtEnd() || !summary.IsAtEnd() || !value.IsAtEnd()) return std::nullopt;
  if (!IsOfMode(metadata) || !(IsAscii(name) || IsUtf8(name))) return std::nullopt;
  const std::optional<double> number = NumberOf(tensor);
  if (!number) return std::nullopt;
  read.number = *number;
  return read;
}

}  // namespace smdebug::format
