// Reads the configuration files of the AWS command line, by the same rules.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::aws {

struct IniValue {
  std::string text;  // has several lines if it was continued
  // Set instead of `text` for `s3 =` with `addressing_style = path` indented below it.
  std::map<std::string, std::string, std::less<>> nested{};
};

struct IniSection {
  std::map<std::string, IniValue, std::less<>> values;  // keys in lower case

  const std::string *Find(std::string_view key) const;  // nullptr if there is none
  const std::string *FindNested(std::string_view key, std::string_view nested_key) const;
};

struct IniFile {
  std::string path;
  std::map<std::string, IniSection, std::less<>> sections;  // "default", "profile x", ...

  const IniSection *Find(std::string_view section) const;
};

// Comments are whole lines that begin with # or ;.  Sections with the same name are merged,
// and the last value of a key counts.  Fails with INVALID_CONFIG; the message contains `path`
// and the line, never a value.
Result<IniFile> ParseIni(std::string_view text, std::string path);

// A missing file and an empty path both count as an empty file.  Fails as ParseIni() and
// ReadSmallFile() do.
Result<IniFile> ReadIni(const std::string &path);

}  // namespace smdebug::aws
