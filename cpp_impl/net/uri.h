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
  std::string host;            // in lower case; an IPv6 address with its brackets
  uint16_t port = 0;           // the scheme's default if none is given
  std::string path;            // as given, encoded; "/" if none is given
  std::string query;           // as given, encoded, without the "?"
  bool has_user_info = false;  // the user info itself is not stored

  bool IsTls() const { return scheme == "https"; }
  // Returns the form for messages, always with the port.
  std::string HostAndPort() const;
  // Returns the form for a Host header: with the port unless it is the scheme's default.
  std::string Authority() const;
};

// Parses a URL that can be sent unchanged: printable ASCII with well-formed "%" escapes, at
// most 64 KiB, without a fragment.  Fails with INVALID_ARGUMENT; the message says what is
// wrong and where, but does not contain the text, which may contain secrets.
Result<Uri> ParseUri(std::string_view text);

enum class Slashes { kEncoded, kKept };

// Encodes as Signature Version 4 requires: all bytes except A-Z a-z 0-9 - . _ ~ become %XX, in
// upper case.
std::string PercentEncode(std::string_view text, Slashes slashes = Slashes::kEncoded);

enum class Pluses { kKept, kAreSpaces };

// Decodes %XX; the result may contain any bytes.  Fails with INVALID_ARGUMENT if a "%" is not
// followed by two hexadecimal digits.
Result<std::string> PercentDecode(std::string_view text, Pluses pluses = Pluses::kKept);

}  // namespace smdebug::net
