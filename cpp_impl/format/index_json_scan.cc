#include "format/index_json_scan.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "base/crc32c.h"
#include "base/step.h"
#include "format/paths.h"
#include "format/plain_text.h"
#include "tensor/view.h"

namespace smdebug::format {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  bool IsAtEnd() const { return left_.empty(); }
  // Returns how many bytes are left.
  size_t Left() const { return left_.size(); }

  template <size_t size>
  bool Literal(const char (&literal)[size]) {
    constexpr size_t kSize = size - 1;
    if (left_.size() < kSize || std::memcmp(left_.data(), literal, kSize) != 0) return false;
    left_.remove_prefix(kSize);
    return true;
  }

  // Reads text up to its closing quote, and skips the quote.
  bool Text(std::string_view *out) {
    const size_t size = left_.find('"');
    if (size == std::string_view::npos) return false;
    *out = left_.substr(0, size);
    left_.remove_prefix(size + 1);
    return IsPlainText(*out);
  }
  bool Text(std::string *out) {
    std::string_view text;
    if (!Text(&text)) return false;
    *out = text;
    return true;
  }

  // Mostly `*out`, which is empty or plain, is the name already: that of the last file's entry in
  // the same place.
  bool Name(std::string *out) {
    const size_t size = out->size();
    const bool is_same = size > 0 && size < left_.size() && left_[size] == '"' &&
                         std::memcmp(left_.data(), out->data(), size) == 0;
    if (!is_same) return Text(out) && !out->empty();
    left_.remove_prefix(size + 1);
    return true;
  }

  // JSON has only one form for a non-negative integer.
  template <class Integer>
  bool Number(Integer *out) {
    uint64_t number = 0;
    size_t digits = 0;
    if (left_.size() >= sizeof(uint64_t)) number = FirstDigits(left_.data(), &digits);
    const bool goes_on = digits == sizeof(uint64_t) || digits == 0;
    while (goes_on && digits < left_.size() && IsDigit(left_[digits])) {
      if (digits == kMostDigits) return false;
      number = number * 10 + static_cast<uint64_t>(left_[digits++] - '0');
    }
    if (digits == 0 || !std::in_range<Integer>(number)) return false;
    if (digits > 1 && left_.front() == '0') return false;
    *out = static_cast<Integer>(number);
    left_.remove_prefix(digits);
    return true;
  }

  // Reads a number of any sign, which may have a fraction, or "nan" or "inf".
  bool Decimal(double *out) {
    const bool is_text = Literal("\"");
    const char *const begin = left_.data();
    const auto [end, error] = std::from_chars(begin, begin + left_.size(), *out);
    if (error != std::errc{} || std::isfinite(*out) == is_text) return false;
    left_.remove_prefix(static_cast<size_t>(end - begin));
    return !is_text || Literal("\"");
  }

  // Reads "[", entries, "]".
  template <class ReadOne>
  bool List(ReadOne read_one) {
    if (!Literal("[")) return false;
    if (Literal("]")) return true;
    do {
      if (!read_one()) return false;
    } while (Literal(", "));
    return Literal("]");
  }

 private:
  // A number of so many digits fits into 64 bits; none here needs more.
  static constexpr size_t kMostDigits = 19;

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  // Returns the number that the leading digits among eight characters make, and how many they are.
  static uint64_t FirstDigits(const char *text, size_t *count) {
    using plain_text_internal::kEach;
    using plain_text_internal::kHighBits;
    static_assert(std::endian::native == std::endian::little);
    uint64_t word = 0;
    std::memcpy(&word, text, sizeof word);
    // A carry or borrow affects only what follows the first other character.
    const uint64_t others = ((word + kEach * (0x7F - '9')) | (word - kEach * '0')) & kHighBits;
    *count = static_cast<size_t>(std::countr_zero(others)) / 8;
    if (*count == 0) return 0;
    // Zeros take the places before the digits.  Then pairs are joined, and fours, and all.
    uint64_t digits = (word - kEach * '0') << (64 - 8 * *count);
    digits = digits * 10 + (digits >> 8);
    constexpr uint64_t kPairs = 0x000000FF000000FFU;
    return ((digits & kPairs) * 0x000F424000000064U +
            ((digits >> 16) & kPairs) * 0x0000271000000001U) >>
           32;
  }

  std::string_view left_;
};

// A time below this and one after it, both in microseconds, have a sum of 64 bits.
constexpr int64_t kMostTime = std::numeric_limits<int64_t>::max() / 2;

bool ScanTime(Scanner *scanner, int64_t *out) { return scanner->Number(out) && *out <= kMostTime; }

// Sets `first_time` if numbers follow.
bool ScanMeta(Scanner *scanner, IndexFile *out, std::optional<int64_t> *first_time) {
  std::string_view mode_name;
  if (!scanner->Literal(R"({"meta": {"mode": ")") || !scanner->Text(&mode_name)) return false;
  if (!scanner->Literal(R"(, "mode_step": )") || !scanner->Number(&out->mode_step)) return false;
  if (out->mode_step > kMaxStep) return false;
  if (scanner->Literal(R"(, "event_file_name": ")")) {
    if (!scanner->Text(&out->event_file_name)) return false;
    if (!IsInsideTrial(out->event_file_name)) return false;
  }
  if (scanner->Literal(R"(, "time_us": )") && !ScanTime(scanner, &first_time->emplace())) {
    return false;
  }
  const std::optional<Mode> mode = ModeFromName(mode_name);
  if (!mode) return false;
  out->mode = *mode;
  return scanner->Literal("}");
}

bool ScanDType(Scanner *scanner, tensor::DType *out) {
  std::string_view name;
  if (!scanner->Text(&name) || !scanner->Literal(": ")) return false;
  for (auto number = static_cast<int64_t>(tensor::DType::kFloat16);
       number <= static_cast<int64_t>(tensor::DType::kBool); ++number) {
    const auto dtype = tensor::DTypeFromNumber(number);
    if (!dtype || tensor::DTypeName(*dtype) != name) continue;
    *out = *dtype;
    return true;
  }
  return false;
}

// Reads what follows the checksum of an entry: nothing, or its number.
bool ScanNumber(Scanner *scanner, int64_t first_time, std::optional<SavedNumber> *out) {
  const bool is_float = scanner->Literal(R"(, "float32": )");  // most of them are
  if (!is_float && !scanner->Literal(", \"")) return true;
  SavedNumber &number = out->emplace();  // in place: a copy would wait for its small fields
  number.dtype = tensor::DType::kFloat32;
  if (!is_float && !ScanDType(scanner, &number.dtype)) return false;
  if (!scanner->Decimal(&number.number)) return false;
  if (scanner->Literal(R"(, "rank": )") && !scanner->Number(&number.rank)) return false;
  if (number.rank > tensor::kMaxRank) return false;
  if (!scanner->Literal(R"(, "us": )") || !ScanTime(scanner, &number.time)) return false;
  number.time += first_time;
  return true;
}

bool ScanTensor(Scanner *scanner, std::optional<int64_t> first_time, TensorLocation *out) {
  constexpr auto kMaxOffset = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!scanner->Literal(R"({"tensorname": ")") || !scanner->Name(&out->name)) return false;
  if (!scanner->Literal(R"(, "start_idx": )") || !scanner->Number(&out->start)) return false;
  if (!scanner->Literal(R"(, "length": )") || !scanner->Number(&out->length)) return false;
  out->crc32c.reset();
  out->part.reset();
  out->number.reset();
  if (scanner->Literal(R"(, "crc32c": )") && !scanner->Number(&out->crc32c.emplace())) {
    return false;
  }
  if (first_time && !ScanNumber(scanner, *first_time, &out->number)) return false;
  return out->start <= kMaxOffset && out->length <= kMaxOffset - out->start &&
         scanner->Literal("}");
}

bool ScanShape(Scanner *scanner, SavedShape *out) {
  if (!scanner->Literal(R"({"tensorname": ")") || !scanner->Name(&out->name)) return false;
  if (!scanner->Literal(R"(, "originalname": ")")) return false;
  if (!scanner->Text(&out->original_name) || !scanner->Literal(R"(, "shape": )")) return false;
  const bool is_list = scanner->List([&] { return scanner->Number(&out->shape.emplace_back()); });
  return is_list && out->shape.size() <= tensor::kMaxRank && scanner->Literal("}");
}

// Returns true if what follows is the checksum of the text before it.
bool ScanChecksum(Scanner *scanner, std::string_view text) {
  const std::string_view before = text.substr(0, text.size() - scanner->Left());
  uint32_t checksum = 0;
  return scanner->Literal(R"(, "crc32c": )") && scanner->Number(&checksum) &&
         checksum == Crc32c(AsBytes(before));
}

}  // namespace

bool ScanIndex(std::string_view text, IndexFile *out) {
  out->event_file_name.clear();
  out->shapes.clear();
  if (!std::exchange(out->has_plain_names, false)) out->tensors.clear();
  Scanner scanner(text);
  std::optional<int64_t> first_time;
  if (!ScanMeta(&scanner, out, &first_time) || !scanner.Literal(R"(, "tensor_payload": )"))
    return false;
  // Existing entries, and the memory of their names, are reused.
  size_t count = 0;
  const auto next_tensor = [&] {
    if (count == out->tensors.size()) out->tensors.emplace_back();
    return ScanTensor(&scanner, first_time, &out->tensors[count++]);
  };
  if (!scanner.List(next_tensor)) return false;
  out->tensors.resize(count);
  if (!out->tensors.empty() && out->event_file_name.empty()) return false;
  if (!scanner.Literal(R"(, "shape_payload": )")) return false;
  if (!scanner.List([&] { return ScanShape(&scanner, &out->shapes.emplace_back()); })) return false;
  if (first_time && !ScanChecksum(&scanner, text)) return false;
  out->has_plain_names = scanner.Literal("}") && scanner.IsAtEnd();
  return out->has_plain_names;
}

}  // namespace smdebug::format
