#include "json_reader.h"

#include <charconv>

#include "smdebug.hpp"

namespace smdebug::cli {
namespace {

void AppendUtf8(uint32_t code, std::string *out) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) {
    *out += byte(code);
  } else if (code < 0x800) {
    *out += {byte(0xC0 | code >> 6U), byte(0x80 | (code & 0x3FU))};
  } else {
    *out +=
        {byte(0xE0 | code >> 12U), byte(0x80 | (code >> 6U & 0x3FU)), byte(0x80 | (code & 0x3FU))};
  }
}

class Parser {
 public:
  explicit Parser(std::string_view json) : rest_(json) {}

  Json Parse() {
    Json parsed = Value();
    if (Peek() != '\0') Fail();
    return parsed;
  }

 private:
  [[noreturn]] static void Fail() {
    throw Error(SMD_INTERNAL, "the library returned invalid JSON");
  }

  char Peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }

  void Take(char expected) {
    if (Peek() != expected) Fail();
    rest_.remove_prefix(1);
  }

  Json Value() {
    Json value;
    switch (Peek()) {
      case '{': Fields('{', '}', &value); break;
      case '[': Fields('[', ']', &value); break;
      case '"':
        value.kind = Json::Kind::kText;
        value.text = Text();
        break;
      default: {
        const size_t end = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
        if (end == 0) Fail();
        value.text = rest_.substr(0, end);
        rest_.remove_prefix(end);
      }
    }
    return value;
  }

  void Fields(char open, char close, Json *value) {
    value->kind = open == '{' ? Json::Kind::kObject : Json::Kind::kArray;
    Take(open);
    while (Peek() != close) {
      if (!value->items.empty()) Take(',');
      if (open == '{') {
        if (Peek() != '"') Fail();
        value->keys.push_back(Text());
        Take(':');
      }
      value->items.push_back(Value());
    }
    Take(close);
  }

  std::string Text() {
    std::string text;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\') {
        Escape(&text);
      } else {
        text += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    if (rest_.empty()) Fail();
    rest_.remove_prefix(1);
    return text;
  }

  // Surrogates cannot occur: the library escapes only control characters.
  void Escape(std::string *text) {
    if (rest_.size() < 2) Fail();
    const char kind = rest_[1];
    rest_.remove_prefix(2);
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kMeanings = "\b\f\n\r\t";
    if (kind != 'u') {
      const size_t letter = kLetters.find(kind);
      *text += letter == std::string_view::npos ? kind : kMeanings[letter];
      return;
    }
    uint32_t code = 0;
    if (rest_.size() < 4) Fail();
    std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    AppendUtf8(code, text);
    rest_.remove_prefix(4);
  }

  std::string_view rest_;
};

}  // namespace

const Json &Json::Of(std::string_view key) const {
  static const Json kNone;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return items[i];
  }
  return kNone;
}

std::string Json::TextOf(std::string_view key) const { return Of(key).text; }

Json ParseJson(std::string_view json) { return Parser(json).Parse(); }

}  // namespace smdebug::cli
