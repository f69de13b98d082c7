#include "profile/literal_json.h"

#include <algorithm>
#include <array>
#include <utility>

namespace smdebug::profile {
namespace {

bool IsHex(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') ||
         (letter >= 'A' && letter <= 'F');
}
bool IsLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

class Translator {
 public:
  explicit Translator(std::string_view literal) : rest_(literal) {}

  std::string Run() {
    while (!rest_.empty()) {
      const char next = rest_.front();
      if (next == '"' || next == '\'') {
        Text(next);
      } else if (next == ',') {
        Comma();
      } else if (IsLetter(next)) {
        Word();
      } else {
        Copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  void Copy(size_t count) {
    out_.append(rest_.substr(0, count));
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  void Comma() {
    const size_t next = rest_.find_first_not_of(" \t\r\n", 1);
    const bool is_last =
        next != std::string_view::npos && (rest_[next] == '}' || rest_[next] == ']');
    if (!is_last) out_.push_back(',');
    rest_.remove_prefix(1);
  }

  void Word() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords = {
        {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
    size_t size = 0;
    while (size < rest_.size() && IsLetter(rest_[size])) ++size;
    for (const auto &[python, json] : kWords) {
      if (rest_.substr(0, size) != python) continue;
      out_.append(json);
      rest_.remove_prefix(size);
      return;
    }
    Copy(size);
  }

  void Text(char quote) {
    out_.push_back('"');
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char next = rest_.front();
      if (next == quote) {
        out_.push_back('"');
        rest_.remove_prefix(1);
        return;
      }
      if (next == '\\') {
        Escape();
      } else if (next == '"') {
        out_.append("\\\"");
        rest_.remove_prefix(1);
      } else {
        Copy(1);
      }
    }
  }

  // In Python, an unknown escape is a backslash and a letter: "\d" in an expression.
  void Escape() {
    const char letter = rest_.size() > 1 ? rest_[1] : '\0';
    if (letter == '\'') {
      out_.push_back('\'');
      rest_.remove_prefix(2);
    } else if (letter == 'x' && rest_.size() > 3 && IsHex(rest_[2]) && IsHex(rest_[3])) {
      out_.append("\\u00").append(rest_.substr(2, 2));
      rest_.remove_prefix(4);
    } else if (letter != '\0' &&
               std::string_view("\"\\nrtbfu").find(letter) != std::string_view::npos) {
      Copy(2);
    } else {
      out_.append("\\\\");
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string LiteralToJson(std::string_view literal) { return Translator(literal).Run(); }

}  // namespace smdebug::profile
