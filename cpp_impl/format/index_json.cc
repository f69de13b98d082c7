#include "format/index_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/strings.h"
#include "format/plain_text.h"

namespace smdebug::format {
namespace {

// An upper bound for the bytes of an entry without its names.
constexpr size_t kEntryOverhead = 200;

// Composes a short piece of text with numbers before it is appended.
class Piece {
 public:
  template <size_t size>
  Piece &Text(const char (&text)[size]) {
    std::memcpy(at_, text, size - 1);
    at_ += size - 1;
    return *this;
  }
  template <class Integer>
  Piece &Number(Integer number) {
    at_ = std::to_chars(at_, at_ + std::numeric_limits<Integer>::digits10 + 2, number).ptr;
    return *this;
  }
  Piece &Text(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  // Writes the shortest decimal that reads back as the same number, or "nan" or "inf", of any sign.
  Piece &Decimal(double number) {
    const bool is_finite = std::isfinite(number);
    if (!is_finite) *at_++ = '"';
    at_ = std::to_chars(at_, at_ + kLongestDecimal, number).ptr;
    if (!is_finite) *at_++ = '"';
    return *this;
  }
  void AppendTo(std::string *out) const {
    out->append(text_.data(), static_cast<size_t>(at_ - text_.data()));
  }

 private:
  static constexpr size_t kLongestDecimal = 24;  // as -2.2250738585072014e-308

  std::array<char, kEntryOverhead> text_;
  char *at_ = text_.data();
};

void AppendText(std::string_view text, std::string *out) {
  if (IsPlainText(text)) {
    out->push_back('"');
    out->append(text);
    out->push_back('"');
    return;
  }
  JsonWriter writer;
  writer.Text(text);
  out->append(writer.Written());
}

// Returns the time of the earliest number, or nothing if there is none.
std::optional<int64_t> FirstTime(const IndexFile &index) {
  std::optional<int64_t> first;
  for (const TensorLocation &tensor : index.tensors) {
    if (tensor.number) first = std::min(first.value_or(tensor.number->time), tensor.number->time);
  }
  return first;
}

void AppendMeta(const IndexFile &index, std::optional<int64_t> first_time, std::string *out) {
  out->append(R"({"mode": )");
  AppendText(ModeName(index.mode), out);
  Piece().Text(R"(, "mode_step": )").Number(index.mode_step).AppendTo(out);
  if (!index.event_file_name.empty()) {
    out->append(R"(, "event_file_name": )");
    AppendText(index.event_file_name, out);
  }
  if (first_time) Piece().Text(R"(, "time_us": )").Number(*first_time).AppendTo(out);
  out->push_back('}');
}

void AppendSizes(const std::vector<int64_t> &sizes, std::string *out) {
  out->push_back('[');
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) out->append(", ");
    Piece().Number(sizes[i]).AppendTo(out);
  }
  out->push_back(']');
}

void AppendPart(const PartOf &part, std::string *out) {
  out->append(R"(, "part_of": )");
  AppendText(part.tensor, out);
  Piece().Text(R"(, "part": )").Number(part.number).Text(R"(, "whole_shape": )").AppendTo(out);
  AppendSizes(part.shape, out);
}

void AppendTensor(const TensorLocation &tensor, int64_t first_time, std::string *out) {
  out->append(R"({"tensorname": )");
  AppendText(tensor.name, out);
  Piece rest;
  rest.Text(R"(, "start_idx": )").Number(tensor.start);
  rest.Text(R"(, "length": )").Number(tensor.length);
  if (tensor.crc32c) rest.Text(R"(, "crc32c": )").Number(*tensor.crc32c);
  if (tensor.number) {
    rest.Text(R"(, ")").Text(tensor::DTypeName(tensor.number->dtype)).Text(R"(": )");
    rest.Decimal(tensor.number->number);
    if (tensor.number->rank != 1) rest.Text(R"(, "rank": )").Number(int{tensor.number->rank});
    rest.Text(R"(, "us": )").Number(tensor.number->time - first_time);
  }
  rest.AppendTo(out);
  if (tensor.part) AppendPart(*tensor.part, out);
  out->push_back('}');
}

void AppendShape(const SavedShape &shape, std::string *out) {
  out->append(R"({"tensorname": )");
  AppendText(shape.name, out);
  out->append(R"(, "originalname": )");
  AppendText(shape.original_name, out);
  out->append(R"(, "shape": )");
  AppendSizes(shape.shape, out);
  out->push_back('}');
}

template <class Entries, class AppendOne>
void AppendList(const Entries &entries, AppendOne append_one, std::string *out) {
  out->push_back('[');
  for (const auto &entry : entries) {
    if (&entry != &entries.front()) out->append(", ");
    append_one(entry, out);
  }
  out->push_back(']');
}

size_t ExpectedSize(const IndexFile &index) {
  size_t size = 2 * kEntryOverhead + index.event_file_name.size();
  for (const TensorLocation &tensor : index.tensors) size += tensor.name.size() + kEntryOverhead;
  for (const SavedShape &shape : index.shapes) {
    size += shape.name.size() + shape.original_name.size() + kEntryOverhead;
  }
  return size;
}

}  // namespace

std::string PartName(std::string_view tensor, uint32_t number) {
  return StrCat(tensor, "/part_", number);
}

std::string IndexToJson(const IndexFile &index) {
  std::string out;
  out.reserve(ExpectedSize(index));
  const std::optional<int64_t> first_time = FirstTime(index);
  const auto append_tensor = [&](const TensorLocation &tensor, std::string *to) {
    AppendTensor(tensor, first_time.value_or(0), to);
  };
  out.append(R"({"meta": )");
  AppendMeta(index, first_time, &out);
  out.append(R"(, "tensor_payload": )");
  AppendList(index.tensors, append_tensor, &out);
  out.append(R"(, "shape_payload": )");
  AppendList(index.shapes, AppendShape, &out);
  if (first_time) {
    const uint32_t checksum = Crc32c(AsBytes(out));
    Piece().Text(R"(, "crc32c": )").Number(checksum).AppendTo(&out);
  }
  out.push_back('}');
  return out;
}

}  // namespace smdebug::format
