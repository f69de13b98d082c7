#include "aws/ini.h"

#include "base/small_file.h"
#include "base/strings.h"

namespace smdebug::aws {
namespace {

class Parser {
 public:
  explicit Parser(std::string path) { file_.path = std::move(path); }

  Status ReadLine(std::string_view line) {
    ++line_number_;
    const std::string_view text = Trim(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') return Status::Ok();
    const size_t indent = line.find_first_not_of(" \t");
    if (value_ != nullptr && indent > indent_) return Continue(text);
    indent_ = indent;
    return text.front() == '[' ? BeginSection(text) : ReadSetting(text);
  }

  IniFile Take() { return std::move(file_); }

 private:
  Status Wrong(std::string_view what) const {
    return InvalidConfig(StrCat(file_.path, ":", line_number_, ": ", what));
  }

  Status BeginSection(std::string_view text) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return Wrong("a section's name has no closing ']'");
    const std::string_view name = Trim(text.substr(1, end - 1));
    if (name.empty()) return Wrong("a section has no name");
    section_ = &file_.sections[std::string(name)];
    value_ = nullptr;
    return Status::Ok();
  }

  Status ReadSetting(std::string_view text) {
    if (section_ == nullptr) return Wrong("a setting stands before the first [section]");
    const size_t end = text.find_first_of("=:");
    if (end == std::string_view::npos) return Wrong("expected 'name = value'");
    const std::string_view key = Trim(text.substr(0, end));
    if (key.empty()) return Wrong("a value has no name");
    value_ = &section_->values[ToLower(key)];
    *value_ = IniValue{std::string(Trim(text.substr(end + 1)))};
    return Status::Ok();
  }

  Status Continue(std::string_view text) {
    if (!value_->text.empty()) {
      value_->text.append("\n").append(text);
      return Status::Ok();
    }
    const size_t end = text.find('=');
    const std::string_view key = Trim(text.substr(0, end));
    if (end == std::string_view::npos || key.empty()) {
      return Wrong("expected 'name = value' in an indented line");
    }
    value_->nested.insert_or_assign(ToLower(key), std::string(Trim(text.substr(end + 1))));
    return Status::Ok();
  }

  IniFile file_;
  IniSection *section_ = nullptr;
  IniValue *value_ = nullptr;  // the last value read, which indented lines continue
  size_t indent_ = 0;          // the indent of its first line
  int line_number_ = 0;
};

}  // namespace

const std::string *IniSection::Find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() || found->second.text.empty() ? nullptr : &found->second.text;
}

const std::string *IniSection::FindNested(std::string_view key, std::string_view nested_key) const {
  const auto outer = values.find(key);
  if (outer == values.end()) return nullptr;
  const auto found = outer->second.nested.find(nested_key);
  return found == outer->second.nested.end() || found->second.empty() ? nullptr : &found->second;
}

const IniSection *IniFile::Find(std::string_view section) const {
  const auto found = sections.find(section);
  return found == sections.end() ? nullptr : &found->second;
}

Result<IniFile> ParseIni(std::string_view text, std::string path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.find('\0') != std::string_view::npos) {
    return InvalidConfig(StrCat(path, ": contains NUL bytes; it must be plain text in UTF-8"));
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Parser parser(std::move(path));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    SMD_RETURN_IF_ERROR(parser.ReadLine(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.Take();
}

Result<IniFile> ReadIni(const std::string &path) {
  if (path.empty()) return IniFile{};
  auto text = ReadSmallFile(path);
  if (text.IsOk()) return ParseIni(*text, path);
  if (text.GetStatus().GetCode() == Code::kNotFound) return IniFile{path, {}};
  return text.GetStatus();
}

}  // namespace smdebug::aws
