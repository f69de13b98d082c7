#include "format/event_writer.h"

#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "base/crc32c.h"
#include "base/strings.h"
#include "format/plain_text.h"
#include "format/wire_writer.h"

// This file writes the bytes itself instead of using protobuf-c.  Packing to a buffer, the only way
// to omit the payload, takes protobuf-c 1,450 ns for a small matrix, because it recomputes the size
// of every message on each level.  That is more than all the rest of recording.  The tests compare
// these bytes with those of protobuf-c and the original.

namespace smdebug::format {
namespace {

constexpr std::string_view kModeStep = "mode_step";
constexpr std::string_view kMode = "mode";

// Formats a number as decimal text.
class Decimal {
 public:
  explicit Decimal(int64_t number) {
    const auto [end, error] =
        std::to_chars(digits_.data(), digits_.data() + digits_.size(), number);
    size_ = static_cast<size_t>(end - digits_.data());
  }
  std::string_view Text() const { return {digits_.data(), size_}; }

 private:
  std::array<char, std::numeric_limits<int64_t>::digits10 + 2> digits_;  // plus a sign
  size_t size_;
};

// Computes a tensor's event and the lengths of its nested messages, which precede their bytes.
class Layout {
 public:
  Layout(std::string_view name, const tensor::View &view, const EventContext &context,
         std::span<const std::string_view> strings)
      : name_(name),
        view_(view),
        context_(context),
        strings_(strings),
        dtype_(static_cast<uint64_t>(tensor::DTypeToFile(view.dtype))),
        payload_(view.ByteCount()),
        mode_step_(context.mode_step),
        mode_(static_cast<int64_t>(context.mode)),
        mode_step_plugin_(PluginSize(kModeStep, mode_step_)),
        mode_plugin_(PluginSize(kMode, mode_)),
        metadata_(BytesSize(mode_step_plugin_) + BytesSize(mode_plugin_)),
        shape_(ShapeSize()),
        tensor_(TensorSize()),
        value_(TagSize() + BytesSize(tensor_) + BytesSize(metadata_)),
        event_(ContextSize() + BytesSize(BytesSize(value_))) {}

  uint64_t EventSize() const { return event_; }
  uint64_t TailSize() const { return BytesSize(metadata_); }
  // WriteHead() writes the event up to the payload, and WriteTail() the rest after it.
  void WriteHead(char *out) const;
  void WriteTail(char *out) const;

 private:
  static uint64_t PluginSize(std::string_view name, const Decimal &content) {
    return BytesSize(name.size()) + BytesSize(content.Text().size());
  }
  uint64_t TagSize() const { return name_.empty() ? 0 : BytesSize(name_.size()); }
  // Dimensions are named "<tensor>_<size>".
  uint64_t DimNameSize(std::string_view digits) const { return name_.size() + 1 + digits.size(); }
  uint64_t DimSize(int64_t size, std::string_view digits) const {
    return NumberSize(static_cast<uint64_t>(size)) + BytesSize(DimNameSize(digits));
  }
  uint64_t ShapeSize() const;
  uint64_t TensorSize() const;
  uint64_t ContextSize() const {
    return (context_.wall_time == 0 ? 0 : 1 + sizeof context_.wall_time) +
           NumberSize(static_cast<uint64_t>(context_.step));
  }

  std::string_view name_;
  const tensor::View &view_;
  const EventContext &context_;
  std::span<const std::string_view> strings_;
  uint64_t dtype_;
  uint64_t payload_;
  Decimal mode_step_;
  Decimal mode_;
  uint64_t mode_step_plugin_;
  uint64_t mode_plugin_;
  uint64_t metadata_;
  uint64_t shape_;
  uint64_t tensor_;
  uint64_t value_;
  uint64_t event_;
};

uint64_t Layout::ShapeSize() const {
  uint64_t shape = 0;
  for (const int64_t size : view_.shape) shape += BytesSize(DimSize(size, Decimal(size).Text()));
  return shape;
}

uint64_t Layout::TensorSize() const {
  uint64_t size = NumberSize(dtype_) + BytesSize(shape_);
  if (payload_ != 0) size += BytesSize(payload_);
  for (const std::string_view text : strings_) size += BytesSize(text.size());
  return size;
}

void Layout::WriteHead(char *out) const {
  WireWriter writer(out);
  writer.Double(event_field::kWallTime, context_.wall_time);
  writer.Number(event_field::kStep, static_cast<uint64_t>(context_.step));
  writer.Header(event_field::kSummary, BytesSize(value_));
  writer.Header(summary_field::kValue, value_);
  if (!name_.empty()) writer.Bytes(value_field::kTag, name_);
  writer.Header(value_field::kTensor, tensor_);
  writer.Number(tensor_field::kDtype, dtype_);
  writer.Header(tensor_field::kShape, shape_);
  for (const int64_t size : view_.shape) {
    const Decimal digits(size);
    writer.Header(shape_field::kDim, DimSize(size, digits.Text()));
    writer.Number(dim_field::kSize, static_cast<uint64_t>(size));
    writer.Header(dim_field::kName, DimNameSize(digits.Text()));
    writer.Raw(name_);
    writer.Raw("_");
    writer.Raw(digits.Text());
  }
  if (payload_ != 0) writer.Header(tensor_field::kContent, payload_);
  for (const std::string_view text : strings_) writer.Bytes(tensor_field::kStrings, text);
}

void Layout::WriteTail(char *out) const {
  WireWriter writer(out);
  writer.Header(value_field::kMetadata, metadata_);
  writer.Header(metadata_field::kPlugin, mode_step_plugin_);
  writer.Bytes(plugin_field::kName, kModeStep);
  writer.Bytes(plugin_field::kContent, mode_step_.Text());
  writer.Header(metadata_field::kPlugin, mode_plugin_);
  writer.Bytes(plugin_field::kName, kMode);
  writer.Bytes(plugin_field::kContent, mode_.Text());
}

Status CheckUtf8(std::string_view text, std::string_view what) {
  if (IsAscii(text) || IsUtf8(text)) return Status::Ok();
  return InvalidArgument(StrCat(what, " is not UTF-8"));
}

Result<std::vector<std::string_view>> TextElements(std::string_view name,
                                                   const tensor::View &view) {
  const auto *texts = static_cast<const char *const *>(view.data);
  std::vector<std::string_view> elements(static_cast<size_t>(view.ElementCount()));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (texts[i] == nullptr) {
      return InvalidArgument(StrCat("tensor '", name, "': element ", i, " is NULL"));
    }
    elements[i] = texts[i];
    SMD_RETURN_IF_ERROR(CheckUtf8(elements[i], "an element of a tensor of text"));
  }
  return elements;
}

uint32_t TrueFooter(ByteSpan head, ByteSpan payload, ByteSpan tail) {
  return MaskedCrc32c(ExtendCrc32c(ExtendCrc32c(Crc32c(head), payload), tail));
}

}  // namespace

Status EncodeTensorEvent(std::string_view name, const tensor::View &view,
                         const EventContext &context, Checksum checksum, EncodedEvent *out) {
  SMD_RETURN_IF_ERROR(CheckUtf8(name, "a tensor's name"));
  std::vector<std::string_view> strings;
  if (view.dtype == tensor::DType::kString) {
    SMD_ASSIGN_OR_RETURN(strings, TextElements(name, view));
  }
  const Layout layout(name, view, context, strings);
  const uint64_t size = layout.EventSize();
  if (size > kMaxRecordPayload) {
    return Unsupported(StrCat("tensor '", name, "' needs a record of ", size,
                              " bytes; the file format ends at ", kMaxRecordPayload))
        .With("size", std::to_string(size));
  }
  const ByteSpan payload(static_cast<const std::byte *>(view.data), view.ByteCount());
  const size_t tail_size = layout.TailSize();
  out->head.resize(kRecordHeaderSize + size - payload.size() - tail_size);
  out->tail.resize(tail_size + kRecordFooterSize);

  AsText(RecordHeader(size)).copy(out->head.data(), kRecordHeaderSize);
  layout.WriteHead(out->head.data() + kRecordHeaderSize);
  layout.WriteTail(out->tail.data());
  const uint32_t footer = checksum == Checksum::kConstant
                              ? kConstantFooter
                              : TrueFooter(AsBytes(out->head).subspan(kRecordHeaderSize), payload,
                                           AsBytes(out->tail).first(tail_size));
  AsText(RecordFooter(footer)).copy(out->tail.data() + tail_size, kRecordFooterSize);
  return Status::Ok();
}

}  // namespace smdebug::format
