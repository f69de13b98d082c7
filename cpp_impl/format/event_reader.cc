#include "format/event_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/strings.h"
#include "format/plain_text.h"
#include "format/tfrecord.h"
#include "format/wire_cursor.h"
#include "tensor/view.h"

namespace smdebug::format {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they lie");

constexpr uint64_t kFrameSize = kRecordHeaderSize + kRecordFooterSize;

Status Corrupt(std::string what) { return {Code::kCorruptData, std::move(what)}; }

// The fields of event.proto with lists of numbers, and how `converted` stores each.
struct TypedField {
  uint32_t number;
  WireType wire;
  uint8_t size;  // bytes of an element that is collected
};
constexpr std::array<TypedField, 8> kTypedFields = {{
    {tensor_field::kFloats, WireType::kFixed32, 4},
    {tensor_field::kDoubles, WireType::kFixed64, 8},
    {tensor_field::kInts, WireType::kVarint, 4},
    {tensor_field::kComplexFloats, WireType::kFixed32, 4},  // two per element
    {tensor_field::kInt64s, WireType::kVarint, 8},
    {tensor_field::kBools, WireType::kVarint, 1},
    {tensor_field::kComplexDoubles, WireType::kFixed64, 8},  // two per element
    {tensor_field::kHalves, WireType::kVarint, 4},           // the bits, as integers
}};

const TypedField *FindTypedField(uint32_t number) {
  for (const TypedField &field : kTypedFields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

// Returns the field that holds elements of `dtype` if there is no content, or 0.
uint32_t TypedFieldOf(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kFloat32: return tensor_field::kFloats;
    case tensor::DType::kFloat64: return tensor_field::kDoubles;
    case tensor::DType::kInt8:
    case tensor::DType::kInt16:
    case tensor::DType::kInt32:
    case tensor::DType::kUInt8:
    case tensor::DType::kUInt16: return tensor_field::kInts;
    case tensor::DType::kComplex64: return tensor_field::kComplexFloats;
    case tensor::DType::kInt64: return tensor_field::kInt64s;
    case tensor::DType::kBool: return tensor_field::kBools;
    case tensor::DType::kComplex128: return tensor_field::kComplexDoubles;
    case tensor::DType::kFloat16:
    case tensor::DType::kBFloat16: return tensor_field::kHalves;
    default: return 0;
  }
}

// Returns true if `dtype` can represent a collected integer.
bool Fits(int32_t number, tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kInt8: return std::in_range<int8_t>(number);
    case tensor::DType::kInt16: return std::in_range<int16_t>(number);
    case tensor::DType::kUInt8: return std::in_range<uint8_t>(number);
    case tensor::DType::kInt32: return true;
    default: return std::in_range<uint16_t>(number);
  }
}

// Parses an event.  Rejects a singular message that appears twice: protobuf readers disagree on
// whether to merge the two.
class EventParser {
 public:
  EventParser(const RecordParts &parts, uint64_t end)
      : cursor_({parts.before, parts.payload, parts.after}, kRecordHeaderSize, end) {}

  Result<std::optional<TensorEvent>> Parse();

 private:
  bool OnEventField(WireField field);
  bool OnSummaryField(WireField field);
  bool OnValueField(WireField field);
  bool OnMetadataField(WireField field);
  bool OnTensorField(WireField field);
  bool OnShapeField(WireField field);
  bool OnDimField(WireField field, int64_t *size);
  bool ReadPlugin(WireField field);
  bool ReadTypedNumbers(WireField field, const TypedField &typed);
  bool ReadTypedNumber(WireField field, const TypedField &typed);
  bool ReadString(WireField field);
  // Returns true the first time.  If a singular field appears again, stops the walk and returns
  // false.
  bool IsFirst(bool *seen);
  void Collect(const void *bytes, size_t size);

  // These run in this order once the walk is over.
  Status SetContext();
  Status SetElements();
  Status SetStrings();
  Status SetConverted();

  WireCursor cursor_;
  TensorEvent event_;
  uint64_t step_ = 0;
  uint64_t dtype_ = 0;
  std::optional<int64_t> mode_;
  std::optional<int64_t> mode_step_;
  uint32_t typed_field_ = 0;
  size_t values_ = 0;
  bool has_what_ = false;
  bool has_tensor_ = false;
  bool has_metadata_ = false;
  bool has_shape_ = false;
  bool has_content_ = false;
  bool has_tag_ = false;
  bool has_value_ = false;
};

bool EventParser::IsFirst(bool *seen) {
  if (std::exchange(*seen, true)) return cursor_.Fail("the record holds a field twice");
  return true;
}

void EventParser::Collect(const void *bytes, size_t size) {
  const auto *begin = static_cast<const std::byte *>(bytes);
  event_.converted.insert(event_.converted.end(), begin, begin + size);
}

bool EventParser::OnEventField(WireField field) {
  switch (field.number) {
    case event_field::kWallTime: {
      uint64_t bits = 0;
      if (!cursor_.ReadFixed64(field, &bits)) return false;
      event_.context.wall_time = std::bit_cast<double>(bits);
      return true;
    }
    case event_field::kStep: return cursor_.ReadVarint(field, &step_);
    case event_field::kFileVersion:
    case event_field::kGraphDef:
    case event_field::kLogMessage:
    case event_field::kSessionLog:
    case event_field::kTaggedRunMetadata:
    case event_field::kMetaGraphDef: return IsFirst(&has_what_) && cursor_.Skip(field);
    case event_field::kSummary:
      return IsFirst(&has_what_) &&
             cursor_.ReadMessage(field, [this](WireField inner) { return OnSummaryField(inner); });
    default: return cursor_.Skip(field);
  }
}

bool EventParser::OnSummaryField(WireField field) {
  if (field.number != summary_field::kValue) return cursor_.Skip(field);
  ++values_;
  has_tag_ = has_value_ = has_metadata_ = false;
  return cursor_.ReadMessage(field, [this](WireField inner) { return OnValueField(inner); });
}

bool EventParser::OnValueField(WireField field) {
  switch (field.number) {
    case value_field::kTag: {
      ByteSpan tag;
      if (!IsFirst(&has_tag_) || !cursor_.ReadBytes(field, &tag)) return false;
      event_.name = AsText(tag);
      return true;
    }
    case value_field::kSimpleValue:
    case value_field::kOldHistogram:
    case value_field::kImage:
    case value_field::kHistogram:
    case value_field::kAudio: return IsFirst(&has_value_) && cursor_.Skip(field);
    case value_field::kTensor:
      has_tensor_ = true;
      return IsFirst(&has_value_) &&
             cursor_.ReadMessage(field, [this](WireField inner) { return OnTensorField(inner); });
    case value_field::kMetadata:
      return IsFirst(&has_metadata_) &&
             cursor_.ReadMessage(field, [this](WireField inner) { return OnMetadataField(inner); });
    default: return cursor_.Skip(field);
  }
}

bool EventParser::OnMetadataField(WireField field) {
  return field.number == metadata_field::kPlugin ? ReadPlugin(field) : cursor_.Skip(field);
}

bool EventParser::ReadPlugin(WireField field) {
  ByteSpan name;
  ByteSpan content;
  const bool is_read = cursor_.ReadMessage(field, [&](WireField inner) {
    switch (inner.number) {
      case plugin_field::kName: return cursor_.ReadBytes(inner, &name);
      case plugin_field::kContent: return cursor_.ReadBytes(inner, &content);
      default: return cursor_.Skip(inner);
    }
  });
  if (!is_read) return false;
  std::optional<int64_t> *const target = AsText(name) == "mode_step" ? &mode_step_
                                         : AsText(name) == "mode"    ? &mode_
                                                                     : nullptr;
  if (target == nullptr) return true;
  int64_t number = 0;
  const std::string_view text = AsText(content);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return cursor_.Fail("the record's mode or mode step is no number");
  }
  *target = number;
  return true;
}

bool EventParser::OnTensorField(WireField field) {
  switch (field.number) {
    case tensor_field::kDtype: return cursor_.ReadVarint(field, &dtype_);
    case tensor_field::kShape:
      return IsFirst(&has_shape_) &&
             cursor_.ReadMessage(field, [this](WireField inner) { return OnShapeField(inner); });
    case tensor_field::kContent:
      return IsFirst(&has_content_) && cursor_.ReadBytes(field, &event_.content);
    case tensor_field::kStrings: return ReadString(field);
    default: break;
  }
  if (const TypedField *typed = FindTypedField(field.number)) {
    return ReadTypedNumbers(field, *typed);
  }
  return cursor_.Skip(field);
}

bool EventParser::ReadString(WireField field) {
  ByteSpan text;
  if (!cursor_.ReadBytes(field, &text)) return false;
  event_.strings.emplace_back(AsText(text));
  return true;
}

bool EventParser::OnShapeField(WireField field) {
  uint64_t value = 0;
  switch (field.number) {
    case shape_field::kDim: {
      int64_t size = 0;
      const bool is_read =
          cursor_.ReadMessage(field, [&](WireField inner) { return OnDimField(inner, &size); });
      if (!is_read) return false;
      if (event_.shape.size() == tensor::kMaxRank) {
        return cursor_.Fail("the record's tensor has more than 32 dimensions");
      }
      event_.shape.push_back(size);
      return true;
    }
    case shape_field::kUnknownRank:
      if (!cursor_.ReadVarint(field, &value)) return false;
      return value == 0 || cursor_.Fail("the record's tensor has no known shape");
    default: return cursor_.Skip(field);
  }
}

bool EventParser::OnDimField(WireField field, int64_t *size) {
  uint64_t value = 0;
  if (field.number != dim_field::kSize) return cursor_.Skip(field);
  if (!cursor_.ReadVarint(field, &value)) return false;
  *size = static_cast<int64_t>(value);
  return *size >= 0 || cursor_.Fail("the record's tensor has a negative size");
}

bool EventParser::ReadTypedNumbers(WireField field, const TypedField &typed) {
  if (typed_field_ != 0 && typed_field_ != field.number) {
    return cursor_.Fail("the record's tensor has elements of two types");
  }
  typed_field_ = field.number;
  return cursor_.ReadRepeated(field, typed.wire,
                              [&](WireField element) { return ReadTypedNumber(element, typed); });
}

bool EventParser::ReadTypedNumber(WireField field, const TypedField &typed) {
  uint64_t value = 0;
  if (typed.wire == WireType::kFixed32) {
    uint32_t bits = 0;
    if (!cursor_.ReadFixed32(field, &bits)) return false;
    value = bits;
  } else if (typed.wire == WireType::kFixed64) {
    if (!cursor_.ReadFixed64(field, &value)) return false;
  } else {
    if (!cursor_.ReadVarint(field, &value)) return false;
    if (typed.size == 1) value = value != 0 ? 1 : 0;
    if (typed.size == 4 && !std::in_range<int32_t>(static_cast<int64_t>(value))) {
      return cursor_.Fail("the record's tensor has an element beyond its type");
    }
  }
  Collect(&value, typed.size);
  return true;
}

Status EventParser::SetContext() {
  event_.context.step = static_cast<int64_t>(step_);
  event_.context.mode_step = mode_step_.value_or(event_.context.step);
  const std::optional<Mode> mode =
      ModeFromNumber(mode_.value_or(static_cast<int64_t>(Mode::kGlobal)));
  if (!mode) return Corrupt("the record has an unknown mode");
  event_.context.mode = *mode;
  if (!IsAscii(event_.name) && !IsUtf8(event_.name)) {
    return Corrupt("the name of the record's tensor is not UTF-8");
  }
  return Status::Ok();
}

Status EventParser::SetStrings() {
  if (!event_.content.empty() || typed_field_ != 0) {
    return Corrupt("the record's tensor is text, but holds numbers");
  }
  if (!has_shape_) event_.shape.push_back(static_cast<int64_t>(event_.strings.size()));
  const Result<int64_t> count = tensor::CountElements(event_.shape);
  if (!count.IsOk() || static_cast<uint64_t>(*count) != event_.strings.size()) {
    return Corrupt("the shape of the record's tensor does not fit its number of texts");
  }
  for (const std::string &text : event_.strings) {
    if (!IsAscii(text) && !IsUtf8(text)) return Corrupt("the record's tensor holds no UTF-8");
  }
  return Status::Ok();
}

// Elements of smaller integer types were collected as int32.
Status EventParser::SetConverted() {
  std::vector<std::byte> &bytes = event_.converted;
  const size_t size = tensor::DTypeSize(event_.dtype);
  const TypedField *typed = FindTypedField(typed_field_);
  if (typed->number != TypedFieldOf(event_.dtype) || !event_.content.empty()) {
    return Corrupt("the record's tensor has elements of two types");
  }
  if (typed->wire == WireType::kVarint && typed->size > size) {
    const size_t collected = bytes.size() / typed->size;
    for (size_t i = 0; i < collected; ++i) {
      int32_t number = 0;
      std::memcpy(&number, &bytes[i * sizeof number], sizeof number);
      if (!Fits(number, event_.dtype)) {
        return Corrupt("the record's tensor has an element beyond its type");
      }
      std::memcpy(&bytes[i * size], &number, size);
    }
    bytes.resize(collected * size);
  }
  event_.content = bytes;
  return Status::Ok();
}

Status EventParser::SetElements() {
  const std::optional<tensor::DType> dtype = tensor::DTypeFromFile(static_cast<int64_t>(dtype_));
  if (!dtype) {
    return Corrupt(StrCat("the record's tensor has an unknown element type, ", dtype_));
  }
  event_.dtype = *dtype;
  if (event_.dtype == tensor::DType::kString) return SetStrings();
  if (!event_.strings.empty()) return Corrupt("the record's tensor has texts for numbers");
  const Result<int64_t> count = tensor::CountElements(event_.shape);
  if (!count.IsOk()) return Corrupt("the shape of the record's tensor is impossible");
  if (typed_field_ != 0) SMD_RETURN_IF_ERROR(SetConverted());
  const size_t size = tensor::DTypeSize(event_.dtype);
  if (event_.content.size() % size != 0 ||
      event_.content.size() / size != static_cast<uint64_t>(*count)) {
    return Corrupt(StrCat("the record's tensor has ", event_.content.size(),
                          " bytes, its shape asks for ", *count, " elements of ", size));
  }
  return Status::Ok();
}

Result<std::optional<TensorEvent>> EventParser::Parse() {
  WireField field{};
  while (cursor_.Next(&field) && OnEventField(field)) {
  }
  if (cursor_.Fault() != nullptr) return Corrupt(cursor_.Fault());
  if (!has_tensor_) return std::optional<TensorEvent>();
  if (values_ != 1) return Corrupt("the record holds more than one value");
  SMD_RETURN_IF_ERROR(SetContext());
  SMD_RETURN_IF_ERROR(SetElements());
  return std::optional<TensorEvent>(std::move(event_));
}

// Copies bytes of the record across its parts.  The caller checks that the record has enough bytes.
template <size_t size>
std::array<std::byte, size> BytesAt(const RecordParts &parts, uint64_t offset) {
  std::array<std::byte, size> bytes;
  auto out = bytes.begin();
  for (const ByteSpan part : {parts.before, parts.payload, parts.after}) {
    const uint64_t begin = std::min<uint64_t>(offset, part.size());
    const auto wanted = static_cast<uint64_t>(bytes.end() - out);
    out = std::ranges::copy(part.subspan(begin, std::min(wanted, part.size() - begin)), out).out;
    offset -= begin;
  }
  return bytes;
}

// Returns the CRC of the record's bytes from `begin` to `end`.
uint32_t CrcBetween(const RecordParts &parts, uint64_t begin, uint64_t end) {
  uint32_t crc = 0;
  for (const ByteSpan part : {parts.before, parts.payload, parts.after}) {
    const uint64_t first = std::min<uint64_t>(begin, part.size());
    const uint64_t last = std::min<uint64_t>(end, part.size());
    crc = ExtendCrc32c(crc, part.subspan(first, last - first));
    begin -= first;
    end -= last;
  }
  return crc;
}

// Checks a record's frame against `record_size`.  Returns the end of its payload.
Result<uint64_t> CheckHeader(ByteSpan header, uint64_t record_size) {
  SMD_ASSIGN_OR_RETURN(const uint64_t payload_size, ParseRecordHeader(header));
  if (payload_size != record_size - kFrameSize) {
    return Corrupt(StrCat("the record's length field says ", payload_size, " bytes, it has ",
                          record_size - kFrameSize));
  }
  return kRecordHeaderSize + payload_size;
}

}  // namespace

Result<std::optional<PayloadSpan>> LocatePayload(ByteSpan first_bytes, uint64_t record_size) {
  if (record_size < kFrameSize) return Corrupt("the record is too short");
  if (first_bytes.size() < kRecordHeaderSize) return std::optional<PayloadSpan>();
  SMD_ASSIGN_OR_RETURN(const uint64_t end,
                       CheckHeader(first_bytes.first(kRecordHeaderSize), record_size));
  WireCursor cursor({first_bytes, {}, {}}, kRecordHeaderSize, end);
  constexpr std::array<uint32_t, 4> kPath = {event_field::kSummary, summary_field::kValue,
                                             value_field::kTensor, tensor_field::kContent};
  size_t depth = 0;
  WireField field{};
  while (cursor.Next(&field)) {
    if (field.number != kPath[depth]) {
      if (!cursor.Skip(field)) break;
    } else if (++depth < kPath.size()) {
      if (!cursor.Descend(field)) break;
    } else {
      uint64_t size = 0;
      if (!cursor.ReadLength(field, &size) || size == 0) break;
      return std::optional<PayloadSpan>({cursor.Offset(), size});
    }
  }
  if (cursor.Fault() != nullptr && !cursor.NeedsMore()) return Corrupt(cursor.Fault());
  return std::optional<PayloadSpan>();
}

Result<std::optional<TensorEvent>> ParseRecord(const RecordParts &parts) {
  const uint64_t size = parts.Size();
  if (size < kFrameSize) return Corrupt("the record is too short");
  SMD_ASSIGN_OR_RETURN(const uint64_t end, CheckHeader(BytesAt<kRecordHeaderSize>(parts, 0), size));
  const uint32_t footer = ParseRecordFooter(BytesAt<kRecordFooterSize>(parts, end));
  if (footer != kConstantFooter &&
      footer != MaskedCrc32c(CrcBetween(parts, kRecordHeaderSize, end))) {
    return Corrupt("the record's bytes have a wrong checksum");
  }
  return EventParser(parts, end).Parse();
}

}  // namespace smdebug::format
