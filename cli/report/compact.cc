#include "compact.h"

#include <array>
#include <charconv>
#include <cmath>

#include "limits.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

constexpr int kDigits = 4;

void Append(const MaybeNumber &number, std::string *out) {
  if (!number) {
    *out += "null";
  } else if (std::isnan(*number)) {
    *out += "\"NaN\"";
  } else if (std::isinf(*number)) {
    *out += *number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number,
                                   std::chars_format::general, kDigits);
    out->append(digits.data(), end.ptr);
  }
}

template <class T, class AppendOne>
void AddArray(const std::vector<T> &all, JsonWriter *json, const AppendOne &append) {
  std::string out = "[";
  for (const T &each : all) {
    append(each, &out);
    out += ',';
  }
  if (out.back() == ',') out.pop_back();
  json->Raw(out + "]");
}

}  // namespace

void AddNumber(const MaybeNumber &number, JsonWriter *json) {
  std::string out;
  Append(number, &out);
  json->Raw(out);
}

void AddNumbers(const std::vector<MaybeNumber> &numbers, JsonWriter *json) {
  AddArray(numbers, json, Append);
}

void AddWholes(const std::vector<int64_t> &numbers, JsonWriter *json) {
  AddArray(numbers, json, [](int64_t number, std::string *out) { *out += std::to_string(number); });
}

void AddCounts(const std::vector<size_t> &numbers, JsonWriter *json) {
  AddArray(numbers, json, [](size_t number, std::string *out) { *out += std::to_string(number); });
}

std::string Brief(std::string_view text) { return Shortened(Printable(text), kMostCharacters); }

void AddTexts(const std::vector<std::string> &texts, JsonWriter *json) {
  json->BeginArray();
  for (const std::string &text : texts) json->Text(Brief(text));
  json->EndArray();
}

}  // namespace smdebug::cli::report
