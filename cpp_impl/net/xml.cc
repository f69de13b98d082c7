#include "net/xml.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace smdebug::net {
namespace {

constexpr size_t kMaxSize = size_t{64} << 20;
constexpr size_t kMaxElements = 1000000;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxEntity = 10;  // "&#x10FFFF;" is the longest
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns true if a name may contain the character; all bytes beyond ASCII are accepted.
bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

bool IsXmlCharacter(uint32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
  return point < 0xD800 || (point > 0xDFFF && point != 0xFFFE && point != 0xFFFF);
}

void AppendUtf8(std::string &out, uint32_t point) {
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80U | ((point >> shift) & 0x3FU)));
  };
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (point >> 6)));
    tail(0);
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (point >> 12)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | (point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<uint32_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A') + 10;
  return std::nullopt;
}

// Returns the code point of "#65" or "#x41", or nothing if it is not an XML character.
std::optional<uint32_t> NumericEntity(std::string_view name) {
  const bool is_hex = name.starts_with("#x");
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  const uint32_t base = is_hex ? 16 : 10;
  uint32_t point = 0;
  for (const char c : digits) {
    const std::optional<uint32_t> digit = HexDigit(c);
    if (!digit || *digit >= base) return std::nullopt;
    point = point * base + *digit;
    if (point > 0x10FFFF) return std::nullopt;
  }
  if (digits.empty() || !IsXmlCharacter(point)) return std::nullopt;
  return point;
}

std::optional<uint32_t> EntityValue(std::string_view name) {
  if (name.starts_with('#')) return NumericEntity(name);
  if (name == "amp") return '&';
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "quot") return '"';
  if (name == "apos") return '\'';
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Element> Read();

 private:
  Status Fail(std::string_view what) const { return FailAt(at_, what); }
  static Status FailAt(size_t offset, std::string_view what) {
    return Status(Code::kCorruptData, StrCat("XML at byte ", offset, ": ", what))
        .With("offset", std::to_string(offset));
  }

  bool IsAtEnd() const { return at_ == text_.size(); }
  bool Sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool Take(std::string_view what);
  void SkipBlanks();
  Status SkipPast(std::string_view end, std::string_view what);
  // Skips what may precede and follow the outermost element.
  Status SkipMiscellany();
  Status CheckCharacters() const;

  Result<std::string_view> ReadName();
  Status ReadMarkup();
  Status ReadStartTag();
  Status ReadEndTag();
  Status SkipAttribute();
  Status ReadText();
  Status ReadCharacterData();
  Status ReadEntity();
  void Close();

  // An element that is not closed yet.
  struct Open {
    std::string_view written_name;  // with the prefix
    Element element;
  };

  const std::string_view text_;
  size_t at_ = 0;
  size_t elements_ = 0;
  std::vector<Open> open_;
  std::optional<Element> root_;
};

bool Reader::Take(std::string_view what) {
  if (!Sees(what)) return false;
  at_ += what.size();
  return true;
}

void Reader::SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

Status Reader::SkipPast(std::string_view end, std::string_view what) {
  const size_t found = text_.find(end, at_);
  if (found == std::string_view::npos) return Fail(StrCat(what, " without an end"));
  at_ = found + end.size();
  return Status::Ok();
}

Status Reader::SkipMiscellany() {
  while (true) {
    SkipBlanks();
    if (Take("<!--")) {
      SMD_RETURN_IF_ERROR(SkipPast("-->", "a comment"));
    } else if (Take("<?")) {
      SMD_RETURN_IF_ERROR(SkipPast("?>", "a processing instruction"));
    } else {
      return Status::Ok();
    }
  }
}

Status Reader::CheckCharacters() const {
  if (text_.size() > kMaxSize) return FailAt(kMaxSize, "longer than 64 MiB");
  const auto bad = std::find_if(text_.begin(), text_.end(), [](char c) {
    return !IsXmlCharacter(static_cast<unsigned char>(c));
  });
  if (bad != text_.end()) {
    return FailAt(static_cast<size_t>(bad - text_.begin()), "a control character");
  }
  if (!IsUtf8(text_)) return FailAt(0, "the text is not UTF-8");
  return Status::Ok();
}

Result<std::string_view> Reader::ReadName() {
  const size_t begin = at_;
  while (!IsAtEnd() && IsNameCharacter(text_[at_])) ++at_;
  const std::string_view name = text_.substr(begin, at_ - begin);
  const bool has_odd_start =
      !name.empty() && std::string_view("0123456789-.").find(name[0]) != std::string_view::npos;
  if (name.empty() || has_odd_start) return FailAt(begin, "a name is expected");
  return name;
}

Status Reader::SkipAttribute() {
  SMD_RETURN_IF_ERROR(ReadName().GetStatus());
  SkipBlanks();
  if (!Take("=")) return Fail("an attribute without '='");
  SkipBlanks();
  const std::string_view quote = text_.substr(at_, 1);
  if (quote != "\"" && quote != "'") return Fail("an attribute without quotes");
  ++at_;
  const size_t end = text_.find_first_of(quote == "\"" ? "\"<" : "'<", at_);
  if (end == std::string_view::npos || text_[end] == '<') {
    return Fail("an attribute without an end");
  }
  at_ = end + 1;
  return Status::Ok();
}

Status Reader::ReadStartTag() {
  if (root_) return Fail("a second outermost element");
  if (open_.size() == kMaxDepth) return Fail("more than 32 levels of elements");
  if (++elements_ > kMaxElements) return Fail("more than 1000000 elements");
  SMD_ASSIGN_OR_RETURN(const std::string_view name, ReadName());
  open_.emplace_back();
  open_.back().written_name = name;
  open_.back().element.name = name.substr(name.find(':') + 1);
  while (true) {
    const size_t before = at_;
    SkipBlanks();
    if (Take(">")) return Status::Ok();
    if (Take("/>")) {
      Close();
      return Status::Ok();
    }
    if (at_ == before) return Fail("a tag is not closed");
    SMD_RETURN_IF_ERROR(SkipAttribute());
  }
}

Status Reader::ReadEndTag() {
  const size_t begin = at_;
  SMD_ASSIGN_OR_RETURN(const std::string_view name, ReadName());
  SkipBlanks();
  if (!Take(">")) return Fail("a tag is not closed");
  if (open_.empty() || open_.back().written_name != name) {
    return FailAt(begin, "the end of an element that is not open here");
  }
  Close();
  return Status::Ok();
}

void Reader::Close() {
  Element element = std::move(open_.back().element);
  open_.pop_back();
  if (!element.children.empty() && Trim(element.text).empty()) element.text.clear();
  if (open_.empty()) {
    root_ = std::move(element);
  } else {
    open_.back().element.children.push_back(std::move(element));
  }
}

Status Reader::ReadMarkup() {
  if (Take("<!--")) return SkipPast("-->", "a comment");
  if (Take("<![CDATA[")) return ReadCharacterData();
  if (Take("<?")) return SkipPast("?>", "a processing instruction");
  if (Sees("<!")) return Fail("a DTD or another declaration; they are refused");
  if (Take("</")) return ReadEndTag();
  at_ += 1;
  return ReadStartTag();
}

Status Reader::ReadCharacterData() {
  const size_t begin = at_;
  SMD_RETURN_IF_ERROR(SkipPast("]]>", "a CDATA section"));
  if (open_.empty()) return FailAt(begin, "text outside of an element");
  open_.back().element.text.append(text_.substr(begin, at_ - begin - 3));
  return Status::Ok();
}

Status Reader::ReadEntity() {
  const size_t end = text_.substr(at_, kMaxEntity).find(';');
  if (end == std::string_view::npos) return Fail("'&' without an entity's name and ';'");
  const std::optional<uint32_t> point = EntityValue(text_.substr(at_ + 1, end - 1));
  if (!point) return Fail("an unknown entity, or a character that XML does not have");
  AppendUtf8(open_.back().element.text, *point);
  at_ += end + 1;
  return Status::Ok();
}

Status Reader::ReadText() {
  if (text_[at_] == '&') return ReadEntity();
  const size_t end = std::min(text_.find_first_of("<&", at_), text_.size());
  open_.back().element.text.append(text_.substr(at_, end - at_));
  at_ = end;
  return Status::Ok();
}

Result<Element> Reader::Read() {
  SMD_RETURN_IF_ERROR(CheckCharacters());
  Take(kByteOrderMark);
  SMD_RETURN_IF_ERROR(SkipMiscellany());
  while (!root_) {
    if (IsAtEnd()) return Fail(open_.empty() ? "no element" : "an element without an end");
    if (text_[at_] == '<') {
      SMD_RETURN_IF_ERROR(ReadMarkup());
    } else if (open_.empty()) {
      return Fail("text outside of an element");
    } else {
      SMD_RETURN_IF_ERROR(ReadText());
    }
  }
  SMD_RETURN_IF_ERROR(SkipMiscellany());
  if (!IsAtEnd()) return Fail("text after the outermost element");
  return *std::move(root_);
}

}  // namespace

const Element *Element::Find(std::string_view child_name) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const Element &child) { return child.name == child_name; });
  return found == children.end() ? nullptr : &*found;
}

std::vector<const Element *> Element::FindAll(std::string_view child_name) const {
  std::vector<const Element *> found;
  for (const Element &child : children) {
    if (child.name == child_name) found.push_back(&child);
  }
  return found;
}

std::string_view Element::TextOf(std::string_view child_name) const {
  const Element *child = Find(child_name);
  return child == nullptr ? std::string_view() : std::string_view(child->text);
}

Result<Element> ParseXml(std::string_view text) { return Reader(text).Read(); }

}  // namespace smdebug::net
