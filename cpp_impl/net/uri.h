// URLs and percent-encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::net {

// An absolute http or https URL.
struct Uri {
  std::string scheme;          // "http" or "https"
  std::string host;            // in lower case; an IPv6 address in its brackets
  uint16_t port = 0;           // the scheme's own if none is given
  std::string path;            // as given, encoded; "/" if none is given
  std::string query;           // as given, encoded, without the "?"
  bool has_user_info = false;  // which is kept nowhere

  bool IsTls() const { return scheme == "https"; }
  // As messages name it: always with the port.
  std::string HostAndPort() const;
  // As a Host header has it: with the port unless that is the scheme's own.
  std::string Authority() const;
};

// Takes what may be sent as it is: printable ASCII with well-formed "%" escapes, at most
// 64 KiB, without a fragment.  INVALID_ARGUMENT says what is wrong and where, without
// the text, which may hold secrets.
Result<Uri> ParseUri(std::string_view text);

enum class Slashes { kEncoded, kKept };

// As Signature Version 4 wants it: all but A-Z a-z 0-9 - . _ ~ becomes %XX, in upper case.
std::string PercentEncode(std::string_view text, Slashes slashes = Slashes::kEncoded);

enum class Pluses { kKept, kAreSpaces };

// Any bytes may come out.  INVALID_ARGUMENT for a "%" without two hexadecimal digits.
Result<std::string> PercentDecode(std::string_view text, Pluses pluses = Pluses::kKept);

}  // namespace smdebug::net
