#include "base/json.h"

#include <cjson/cJSON.h>

#include <array>
#include <cmath>
#include <string>
#include <unordered_map>

#include "base/strings.h"

namespace smdebug {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;
constexpr size_t kMaxValues = size_t{8} << 20;
constexpr int kMaxDepth = 64;
constexpr size_t kMaxExcerpt = 100;
constexpr double kExactBelow = 9007199254740992.0;  // 2^53
constexpr char32_t kReplacement = 0xFFFD;

struct Character {
  char32_t code = kReplacement;
  size_t length = 1;
  bool is_valid = false;
};

// Returns the first character of `text`.  A byte that begins none counts as a character.
Character Decode(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length || !IsUtf8(text.substr(0, length))) return {};
  char32_t code = lead & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (at(i) & 0x3FU);
  return {code, length, true};
}

Status Fault(std::string_view text, size_t offset, std::string_view what) {
  const std::string_view before = text.substr(0, offset);
  size_t line = 1;
  for (const char letter : before) line += letter == '\n' ? 1 : 0;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0: the first line
  return InvalidConfig(StrCat("not valid JSON at line ", line, ", column ", offset - line_start + 1,
                              " (offset ", offset, "): ", what))
      .With("offset", std::to_string(offset));
}

// Checks a text before cJSON parses it.  cJSON accepts control characters, and texts with NUL,
// which it would truncate.  It would not survive deep nesting or too many values.
class Screening {
 public:
  explicit Screening(std::string_view text) : text_(text) {}

  Status Run() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      SMD_RETURN_IF_ERROR(letter == '"' ? PassText() : PassOutside(letter));
    }
    return Status::Ok();
  }

 private:
  static bool IsControl(char letter) { return static_cast<unsigned char>(letter) < 0x20; }

  Status PassOutside(char letter) {
    if (letter == '[' || letter == '{') {
      ++values_;
      if (++depth_ > kMaxDepth) {
        return Fault(text_, at_, StrCat("more than ", kMaxDepth, " levels"));
      }
    } else if (letter == ']' || letter == '}') {
      --depth_;
    } else if (letter == ',') {
      ++values_;
    } else if (IsControl(letter) && letter != '\n' && letter != '\r' && letter != '\t') {
      return Fault(text_, at_, "a control character");
    }
    if (values_ > kMaxValues) {
      return Fault(text_, at_, StrCat("more than ", kMaxValues, " values"));
    }
    ++at_;
    return Status::Ok();
  }

  Status PassText() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char letter = text_[at_];
      if (letter == '"') {
        ++at_;
        break;
      }
      if (IsControl(letter)) return Fault(text_, at_, "a control character in a text");
      if (letter != '\\') continue;
      if (text_.substr(at_ + 1, 5) == "u0000") return Fault(text_, at_, "a NUL in a text");
      ++at_;
    }
    return Status::Ok();
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t values_ = 1;
  int depth_ = 0;
};

size_t FirstMalformed(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Character character = Decode(text.substr(at));
    if (!character.is_valid) break;
    at += character.length;
  }
  return at;
}

// Appends the path from `from` to `target` to `place`.  Returns false if `target` is not below
// `from`.
bool TracePlace(const cJSON *from, const cJSON *target, std::string &place) {
  if (from == target) return true;
  const size_t length = place.size();
  size_t index = 0;
  for (const cJSON *child = from->child; child != nullptr; child = child->next, ++index) {
    if (child->string == nullptr) {
      place += StrCat("[", index, "]");
    } else {
      place += StrCat(place.empty() ? "" : ".", Excerpt(child->string));
    }
    if (TracePlace(child, target, place)) return true;
    place.resize(length);
  }
  return false;
}

void AppendEscaped(std::string &out, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 0xFU];
}

// Returns the letter after the backslash in the short escape of `code`, or 0.
char ShortEscape(char32_t code) {
  switch (code) {
    case '"': return '"';
    case '\\': return '\\';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '\f': return 'f';
    case '\b': return 'b';
    default: return 0;
  }
}

bool IsPlain(char letter) {
  return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

}  // namespace

std::string Excerpt(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character character = Decode(text.substr(at));
    if (at + character.length > kMaxExcerpt) return out + "...";
    const bool is_control = character.code < 0x20 || character.code == 0x7F;
    if (character.is_valid && !is_control) {
      out.append(text.substr(at, character.length));
    } else {
      out.push_back('?');
    }
    at += character.length;
  }
  return out;
}

bool JsonValue::IsNull() const { return cJSON_IsNull(node_) != 0; }
bool JsonValue::IsObject() const { return cJSON_IsObject(node_) != 0; }
bool JsonValue::IsArray() const { return cJSON_IsArray(node_) != 0; }
bool JsonValue::IsText() const { return cJSON_IsString(node_) != 0; }
bool JsonValue::IsNumber() const { return cJSON_IsNumber(node_) != 0; }
bool JsonValue::IsBool() const { return cJSON_IsBool(node_) != 0; }

const char *JsonValue::Kind() const {
  if (IsNull()) return "null";
  if (IsObject()) return "an object";
  if (IsArray()) return "a list";
  if (IsText()) return "text";
  if (IsNumber()) return "a number";
  return cJSON_IsTrue(node_) != 0 ? "true" : "false";
}

std::string JsonValue::Place() const {
  std::string place;
  TracePlace(root_, node_, place);
  return place.empty() ? "the document" : place;
}

std::optional<JsonValue> JsonValue::Find(std::string_view key) const {
  if (!IsObject()) return {};
  const cJSON *found = nullptr;
  for (const cJSON *child = node_->child; child != nullptr; child = child->next) {
    if (key == child->string) found = child;
  }
  if (found == nullptr) return {};
  return JsonValue(found, root_);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string, JsonValue>> members;
  if (!IsObject()) return members;
  std::unordered_map<std::string_view, size_t> places;
  for (const cJSON *child = node_->child; child != nullptr; child = child->next) {
    const auto [place, is_new] = places.emplace(child->string, members.size());
    if (is_new) {
      members.emplace_back(child->string, JsonValue(child, root_));
    } else {
      members[place->second].second = JsonValue(child, root_);
    }
  }
  return members;
}

std::vector<JsonValue> JsonValue::Items() const {
  std::vector<JsonValue> items;
  if (!IsArray()) return items;
  for (const cJSON *child = node_->child; child != nullptr; child = child->next) {
    items.push_back(JsonValue(child, root_));
  }
  return items;
}

Result<std::string> JsonValue::Text() const {
  if (!IsText()) return WrongKind("text");
  return std::string(node_->valuestring);
}

Result<int64_t> JsonValue::Int() const {
  if (!IsNumber()) return WrongKind("a whole number");
  const double number = node_->valuedouble;
  if (!(std::fabs(number) < kExactBelow)) return Wrong("the number is too large");
  if (std::trunc(number) != number) return Wrong("expected a whole number, found a fraction");
  return static_cast<int64_t>(number);
}

Result<double> JsonValue::Number() const {
  if (!IsNumber()) return WrongKind("a number");
  if (!std::isfinite(node_->valuedouble)) return Wrong("the number is too large");
  return node_->valuedouble;
}

Result<bool> JsonValue::Bool() const {
  if (!IsBool()) return WrongKind("true or false");
  return cJSON_IsTrue(node_) != 0;
}

Status JsonValue::WrongKind(const char *wanted) const {
  return Wrong(StrCat("expected ", wanted, ", found ", Kind()));
}

Status JsonValue::Wrong(std::string_view what) const {
  return InvalidConfig(StrCat(Place(), ": ", what));
}

Result<JsonDocument> JsonDocument::Parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return InvalidConfig(StrCat("JSON of ", text.size(), " bytes exceeds the limit of ", kMaxText));
  }
  if (Trim(text).empty()) return InvalidConfig("empty text where JSON is expected");
  if (!IsUtf8(text)) return Fault(text, FirstMalformed(text), "a byte that is not UTF-8");
  SMD_RETURN_IF_ERROR(Screening(text).Run());
  const char *end = nullptr;
  const auto parse = [&] { return cJSON_ParseWithLengthOpts(text.data(), text.size(), &end, 0); };
  JsonDocument document(parse());
  // Tries twice: cJSON does not report whether the text is wrong or memory was short.
  if (!document.root_) document = JsonDocument(parse());
  const size_t offset = end == nullptr ? 0 : static_cast<size_t>(end - text.data());
  if (!document.root_) return Fault(text, offset, "a value is missing, invalid or cut off");
  if (!Trim(text.substr(offset)).empty()) {
    return Fault(text, offset, "text follows the end of the document");
  }
  return document;
}

void JsonDocument::Delete::operator()(cJSON *node) const { cJSON_Delete(node); }

void JsonWriter::BeginObject() {
  Separate();
  out_.push_back('{');
  needs_comma_ = false;
}

void JsonWriter::EndObject() {
  out_.push_back('}');
  needs_comma_ = true;
}

void JsonWriter::BeginArray() {
  Separate();
  out_.push_back('[');
  needs_comma_ = false;
}

void JsonWriter::EndArray() {
  out_.push_back(']');
  needs_comma_ = true;
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  AppendQuoted(key);
  out_ += ": ";
  needs_comma_ = false;
}

void JsonWriter::Text(std::string_view text) {
  Separate();
  AppendQuoted(text);
}

void JsonWriter::Int(int64_t number) {
  Separate();
  out_ += std::to_string(number);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  out_ += "null";
}

void JsonWriter::Separate() {
  if (needs_comma_) out_ += ", ";
  needs_comma_ = true;
}

void JsonWriter::AppendQuoted(std::string_view text) {
  out_.push_back('"');
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character character = Decode(text);
    if (const char letter = ShortEscape(character.code); letter != 0) {
      out_.push_back('\\');
      out_.push_back(letter);
    } else if (character.code < 0x10000) {
      AppendEscaped(out_, character.code);
    } else {
      AppendEscaped(out_, 0xD800 + ((character.code - 0x10000) >> 10));
      AppendEscaped(out_, 0xDC00 + ((character.code - 0x10000) & 0x3FF));
    }
    text.remove_prefix(character.length);
  }
  out_.push_back('"');
}

}  // namespace smdebug
