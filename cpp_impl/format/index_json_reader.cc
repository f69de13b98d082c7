#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "base/step.h"
#include "base/strings.h"
#include "format/index_json.h"
#include "format/index_json_scan.h"
#include "format/paths.h"
#include "format/plain_text.h"
#include "tensor/view.h"

namespace smdebug::format {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;
constexpr int kMaxDepth = 64;

// The known keys.
enum class Field : uint8_t {
  kUnknown,
  kMeta,
  kTensorPayload,
  kShapePayload,
  kMode,
  kModeStep,
  kEventFileName,
  kTensorName,
  kOriginalName,
  kStart,
  kLength,
  kCrc32c,
  kShape,
  kPartOf,
  kPart,
  kWholeShape,
};

constexpr uint32_t Bit(Field field) { return uint32_t{1} << static_cast<unsigned>(field); }

constexpr uint32_t kMetaFields =
    Bit(Field::kMode) | Bit(Field::kModeStep) | Bit(Field::kEventFileName);
constexpr uint32_t kPartFields = Bit(Field::kPartOf) | Bit(Field::kPart) | Bit(Field::kWholeShape);
constexpr uint32_t kEntryFields = Bit(Field::kTensorName) | Bit(Field::kOriginalName) |
                                  Bit(Field::kStart) | Bit(Field::kLength) | Bit(Field::kCrc32c) |
                                  Bit(Field::kShape) | kPartFields;

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Returns true if callers in C, where a NUL ends a text, can request the name.
bool CanBeNamed(std::string_view name) { return !name.empty() && !HasNul(name); }

// Builds an IndexFile from RapidJSON's events.  If a key appears twice, the last one counts, as in
// Python.  So a wrong value is reported only at the end of its object.
class IndexBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, IndexBuilder> {
 public:
  bool Default() { return OnOther(); }  // null, booleans, fractions
  bool Int(int number) { return OnNumber(number); }
  bool Uint(unsigned number) { return OnNumber(number); }
  bool Int64(int64_t number) { return OnNumber(number); }
  bool Uint64(uint64_t number) {
    return std::in_range<int64_t>(number) ? OnNumber(static_cast<int64_t>(number)) : OnOther();
  }
  bool String(const char *text, rapidjson::SizeType size, bool) { return OnText({text, size}); }
  bool Key(const char *text, rapidjson::SizeType size, bool) {
    if (skipped_ == 0) field_ = FieldOf({text, size});
    return true;
  }
  bool StartObject();
  bool EndObject(rapidjson::SizeType);
  bool StartArray();
  bool EndArray(rapidjson::SizeType);

  // Returns why a callback stopped the parsing, or NULL.
  const char *Fault() const { return fault_; }
  // Moves the index to `out` once all of it was read.  Otherwise sets Fault() and returns false.
  bool Finish(IndexFile *out);

 private:
  // The known containers.
  enum class Place : uint8_t { kRoot, kTop, kMeta, kTensors, kTensor, kShapes, kShape, kSizes };

  bool Fail(const char *fault) {
    fault_ = fault;
    return false;
  }
  bool OnOther();
  bool OnNumber(int64_t number);
  bool OnText(std::string_view text);
  // Skips a container that is unknown in its place.
  bool Pass();
  bool EndTensor();
  bool EndPart();
  bool EndShape();
  // Returns false if the parts of a tensor are not all in order.
  bool ArePartsInOrder() const;
  PartOf &CurrentPart();
  Field FieldOf(std::string_view key) const;

  void MarkRight(Field field) {
    right_ |= Bit(field);
    wrong_ &= ~Bit(field);
  }
  void MarkWrong(Field field) {
    right_ &= ~Bit(field);
    wrong_ |= Bit(field);
  }
  bool IsRight(Field field) const { return (right_ & Bit(field)) != 0; }
  bool IsWrong(Field field) const { return (wrong_ & Bit(field)) != 0; }
  void Forget(uint32_t fields) {
    right_ &= ~fields;
    wrong_ &= ~fields;
  }

  IndexFile index_;
  std::string mode_;
  Place place_ = Place::kRoot;
  std::vector<int64_t> *sizes_ = nullptr;  // in kSizes: where they go
  Place sizes_in_ = Place::kShape;         // and the place that holds them
  Field field_ = Field::kUnknown;
  uint32_t right_ = 0;  // fields with a value of the right type
  uint32_t wrong_ = 0;  // fields with a value of the wrong type
  int skipped_ = 0;     // open unknown containers
  const char *fault_ = nullptr;
};

Field IndexBuilder::FieldOf(std::string_view key) const {
  switch (place_) {
    case Place::kTop:
      if (key == "meta") return Field::kMeta;
      if (key == "tensor_payload") return Field::kTensorPayload;
      if (key == "shape_payload") return Field::kShapePayload;
      break;
    case Place::kMeta:
      if (key == "mode") return Field::kMode;
      if (key == "mode_step") return Field::kModeStep;
      if (key == "event_file_name") return Field::kEventFileName;
      break;
    case Place::kTensor:
      if (key == "tensorname") return Field::kTensorName;
      if (key == "start_idx") return Field::kStart;
      if (key == "length") return Field::kLength;
      if (key == "crc32c") return Field::kCrc32c;
      if (key == "part_of") return Field::kPartOf;
      if (key == "part") return Field::kPart;
      if (key == "whole_shape") return Field::kWholeShape;
      break;
    case Place::kShape:
      if (key == "tensorname") return Field::kTensorName;
      if (key == "originalname") return Field::kOriginalName;
      if (key == "shape") return Field::kShape;
      break;
    default: break;
  }
  return Field::kUnknown;
}

bool IndexBuilder::OnOther() {
  if (skipped_ != 0) return true;
  switch (place_) {
    case Place::kRoot: return Fail("the index is no object");
    case Place::kTensors: return Fail("an entry of tensor_payload is no object");
    case Place::kShapes: return Fail("an entry of shape_payload is no object");
    case Place::kSizes: return Fail("a shape holds something that is no size");
    default: MarkWrong(field_); return true;
  }
}

bool IndexBuilder::OnNumber(int64_t number) {
  if (skipped_ != 0) return true;
  // Every number of an index is a count, a size or a position, so none is negative.
  if (number < 0) return OnOther();
  if (place_ == Place::kSizes) {
    sizes_->push_back(number);
    return true;
  }
  switch (field_) {
    case Field::kModeStep:
      if (number > kMaxStep) return OnOther();
      index_.mode_step = number;
      break;
    case Field::kStart: index_.tensors.back().start = static_cast<uint64_t>(number); break;
    case Field::kLength: index_.tensors.back().length = static_cast<uint64_t>(number); break;
    case Field::kCrc32c:
      if (!std::in_range<uint32_t>(number)) return OnOther();
      index_.tensors.back().crc32c = static_cast<uint32_t>(number);
      break;
    case Field::kPart:
      if (!std::in_range<uint32_t>(number)) return OnOther();
      CurrentPart().number = static_cast<uint32_t>(number);
      break;
    default: return OnOther();
  }
  MarkRight(field_);
  return true;
}

bool IndexBuilder::OnText(std::string_view text) {
  if (skipped_ != 0) return true;
  switch (field_) {
    case Field::kMode: mode_ = text; break;
    case Field::kEventFileName: index_.event_file_name = text; break;
    case Field::kTensorName:
      (place_ == Place::kTensor ? index_.tensors.back().name : index_.shapes.back().name) = text;
      break;
    case Field::kOriginalName: index_.shapes.back().original_name = text; break;
    case Field::kPartOf: CurrentPart().tensor = text; break;
    default: return OnOther();
  }
  MarkRight(field_);
  return true;
}

bool IndexBuilder::Pass() {
  if (!OnOther()) return false;
  return ++skipped_ <= kMaxDepth || Fail("the index is nested too deeply");
}

bool IndexBuilder::StartObject() {
  if (skipped_ == 0) {
    if (place_ == Place::kRoot) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ == Place::kTensors || place_ == Place::kShapes) {
      Forget(kEntryFields);
      if (place_ == Place::kTensors) {
        index_.tensors.emplace_back();
        place_ = Place::kTensor;
      } else {
        index_.shapes.emplace_back();
        place_ = Place::kShape;
      }
      field_ = Field::kUnknown;
      return true;
    }
    if (field_ == Field::kMeta) {
      Forget(kMetaFields);
      MarkRight(field_);
      place_ = Place::kMeta;
      return true;
    }
  }
  return Pass();
}

bool IndexBuilder::EndObject(rapidjson::SizeType members) {
  if (skipped_ != 0) {
    --skipped_;
    return true;
  }
  field_ = Field::kUnknown;
  switch (place_) {
    case Place::kMeta:
      if (members == 0) MarkWrong(Field::kMeta);
      place_ = Place::kTop;
      return true;
    case Place::kTensor: place_ = Place::kTensors; return EndTensor();
    case Place::kShape: place_ = Place::kShapes; return EndShape();
    default: return true;
  }
}

bool IndexBuilder::StartArray() {
  if (skipped_ != 0) return Pass();
  switch (field_) {
    case Field::kTensorPayload:
      index_.tensors.clear();
      place_ = Place::kTensors;
      break;
    case Field::kShapePayload:
      index_.shapes.clear();
      place_ = Place::kShapes;
      break;
    case Field::kShape:
    case Field::kWholeShape:
      sizes_ = field_ == Field::kShape ? &index_.shapes.back().shape : &CurrentPart().shape;
      sizes_->clear();
      sizes_in_ = place_;
      place_ = Place::kSizes;
      break;
    default: return Pass();
  }
  MarkRight(field_);
  field_ = Field::kUnknown;
  return true;
}

bool IndexBuilder::EndArray(rapidjson::SizeType) {
  if (skipped_ != 0) {
    --skipped_;
    return true;
  }
  place_ = place_ == Place::kSizes ? sizes_in_ : Place::kTop;
  return true;
}

bool IndexBuilder::EndTensor() {
  const TensorLocation &tensor = index_.tensors.back();
  if (!IsRight(Field::kTensorName)) return Fail("a tensor in the index has no name");
  if (!CanBeNamed(tensor.name)) return Fail("a tensor's name in the index is empty or has a NUL");
  if (!IsRight(Field::kStart) || !IsRight(Field::kLength)) {
    return Fail("a tensor in the index has no place, or one that is no whole number");
  }
  if (IsWrong(Field::kCrc32c)) return Fail("a tensor's crc32c in the index is no checksum");
  constexpr auto kMaxOffset = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (tensor.length > kMaxOffset - tensor.start) {
    return Fail("a tensor in the index ends beyond the end of any file");
  }
  return !tensor.part || EndPart();
}

PartOf &IndexBuilder::CurrentPart() {
  std::optional<PartOf> &part = index_.tensors.back().part;
  return part ? *part : part.emplace();
}

bool IndexBuilder::EndPart() {
  const PartOf &part = CurrentPart();
  if ((right_ & kPartFields) != kPartFields) {
    return Fail("a part of a tensor in the index lacks its tensor, its number or the shape");
  }
  if (!CanBeNamed(part.tensor)) return Fail("a tensor's name in the index is empty or has a NUL");
  if (part.shape.size() > tensor::kMaxRank) {
    return Fail("a shape in the index has more than 32 sizes");
  }
  return tensor::CountElements(part.shape).IsOk() ||
         Fail("a shape in the index has too many elements");
}

bool IndexBuilder::ArePartsInOrder() const {
  const TensorLocation *before = nullptr;
  for (const TensorLocation &tensor : index_.tensors) {
    if (tensor.part && tensor.part->number > 0) {
      if (before == nullptr || !before->part) return false;
      PartOf next = *before->part;
      ++next.number;
      if (next != *tensor.part || tensor.start < before->start + before->length) return false;
    }
    before = &tensor;
  }
  return true;
}

bool IndexBuilder::EndShape() {
  SavedShape &shape = index_.shapes.back();
  if (!IsRight(Field::kTensorName)) return Fail("a shape in the index has no name");
  if (!CanBeNamed(shape.name)) return Fail("a shape's name in the index is empty or has a NUL");
  if (!IsRight(Field::kShape)) return Fail("a shape in the index has no sizes");
  if (shape.shape.size() > tensor::kMaxRank) {
    return Fail("a shape in the index has more than 32 sizes");
  }
  if (IsWrong(Field::kOriginalName)) return Fail("an original name in the index is no text");
  if (HasNul(shape.original_name)) return Fail("an original name in the index has a NUL");
  if (!IsRight(Field::kOriginalName)) shape.original_name = shape.name;
  return true;
}

bool IndexBuilder::Finish(IndexFile *out) {
  if (IsWrong(Field::kMeta)) return Fail("the meta section of the index is empty");
  if (!IsRight(Field::kMeta)) return Fail("the index has no meta section");
  if (IsWrong(Field::kTensorPayload) || IsWrong(Field::kShapePayload)) {
    return Fail("a payload section of the index is no list");
  }
  if (!IsRight(Field::kTensorPayload) && !IsRight(Field::kShapePayload)) {
    return Fail("the index has neither tensor_payload nor shape_payload");
  }
  const std::optional<Mode> mode = ModeFromName(Trim(mode_));
  if (!IsRight(Field::kMode) || !mode) return Fail("the index has no known mode");
  if (!IsRight(Field::kModeStep)) return Fail("the mode step of the index is no step");
  if (IsWrong(Field::kEventFileName)) return Fail("the event file's name is no text");
  if (!IsRight(Field::kEventFileName)) {
    if (!index_.tensors.empty()) return Fail("the index names no event file for its tensors");
    index_.event_file_name.clear();
  }
  if (!index_.event_file_name.empty() && !IsInsideTrial(index_.event_file_name)) {
    return Fail("the index names an event file outside the trial");
  }
  if (!ArePartsInOrder()) return Fail("the parts of a tensor in the index are out of order");
  index_.mode = *mode;
  *out = std::move(index_);
  return true;
}

// Allocates memory for RapidJSON, which does not check for NULL itself.
class ThrowingAllocator {
 public:
  void *Malloc(size_t size) { return Realloc(nullptr, 0, size); }
  void *Realloc(void *memory, size_t, size_t size) {
    if (size == 0) {
      std::free(memory);
      return nullptr;
    }
    void *grown = std::realloc(memory, size);
    if (grown == nullptr) throw std::bad_alloc();
    return grown;
  }
  static void Free(void *memory) { std::free(memory); }
};

using IndexParser =
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator>;

// Parses without recursion: hostile text may be nested to any depth.
constexpr unsigned kParseFlags = rapidjson::kParseIterativeFlag;

}  // namespace

Result<IndexFile> IndexFromJson(std::string_view text, std::string_view path, IndexFile spare) {
  if (text.size() > kMaxText) return CorruptData(path, "the index is larger than 256 MiB");
  IndexFile index = std::move(spare);
  if (ScanIndex(text, &index)) return index;
  if (!IsAscii(text) && !IsUtf8(text)) return CorruptData(path, "the index is not UTF-8");
  rapidjson::MemoryStream stream(text.data(), text.size());
  IndexParser parser;
  IndexBuilder builder;
  const rapidjson::ParseResult parsed = parser.Parse<kParseFlags>(stream, builder);
  if (!parsed.IsError() && stream.Tell() == text.size() && builder.Finish(&index)) return index;
  if (builder.Fault() != nullptr) return CorruptData(path, builder.Fault());
  if (parsed.IsError() && parsed.Offset() >= text.size()) {
    return CorruptData(path, "empty or cut index file");
  }
  return CorruptData(path, StrCat("no JSON at byte ", stream.Tell()));
}

}  // namespace smdebug::format
