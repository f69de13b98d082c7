#include "json_writer.h"

#include <array>
#include <cstdio>
#include <utility>

#include "numbers.h"

namespace smdebug::cli {
namespace {

// JSON cannot contain bytes that are not UTF-8.  The library returns them only as elements of text
// tensors.
std::string Escaped(std::string_view text) {
  std::string out = "\"";
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      out += {'\\', byte};
    } else if (code < 0x20 || code == 0x7F) {
      std::array<char, 7> escape{};
      static_cast<void>(std::snprintf(escape.data(), escape.size(), "\\u%04x", code));
      out += escape.data();
    } else {
      out += byte;
    }
  }
  return out + "\"";
}

}  // namespace

void JsonWriter::Separate() {
  if (needs_comma_) out_ += ", ";
  needs_comma_ = true;
}

JsonWriter &JsonWriter::Begin(char bracket) {
  Separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter &JsonWriter::End(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter &JsonWriter::Key(std::string_view name) {
  Text(name);
  out_ += ": ";
  needs_comma_ = false;
  return *this;
}

JsonWriter &JsonWriter::Raw(std::string_view json) {
  Separate();
  out_ += json;
  return *this;
}

JsonWriter &JsonWriter::Text(std::string_view text) { return Raw(Escaped(text)); }

JsonWriter &JsonWriter::Number(double number) { return Raw(JsonNumber(number)); }

JsonWriter &JsonWriter::Texts(const std::vector<std::string> &texts) {
  BeginArray();
  for (const std::string &text : texts) Text(text);
  return EndArray();
}

JsonWriter &JsonWriter::Wholes(const std::vector<int64_t> &numbers) {
  BeginArray();
  for (const int64_t number : numbers) Whole(number);
  return EndArray();
}

std::string JsonWriter::Take() {
  needs_comma_ = false;
  return std::exchange(out_, {});
}

}  // namespace smdebug::cli
