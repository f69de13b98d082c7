// The configuration files of the AWS command line, read as it reads them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::aws {

struct IniValue {
  std::string text;  // of several lines if it was continued
  // Instead of a text: `s3 =` and, indented below it, `addressing_style = path`.
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

// Comments are whole lines that begin with # or ;.  A section or key given twice is
// merged, the last value counts.  Fails with INVALID_CONFIG; the message names `path`
// and the line, never a value.
Result<IniFile> ParseIni(std::string_view text, std::string path);

// A file that is not there, or an empty path, is an empty file.  Fails as ParseIni() and
// ReadSmallFile() do.
Result<IniFile> ReadIni(const std::string &path);

}  // namespace smdebug::aws
