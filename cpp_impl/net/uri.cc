#include "net/uri.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"

namespace smdebug::net {
namespace {

constexpr size_t kMaxUri = 65536;
constexpr size_t kMaxHost = 253;
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsUnreserved(char c) {
  return IsLetter(c) || IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

std::optional<unsigned> HexValue(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return std::nullopt;
}

// Returns the byte of the escape at the start of `text`, or nothing if there is none.
std::optional<char> Escaped(std::string_view text) {
  if (text.size() < 3) return std::nullopt;
  const std::optional<unsigned> high = HexValue(text[1]);
  const std::optional<unsigned> low = HexValue(text[2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high * 16 + *low);
}

Status Wrong(std::string_view what) { return InvalidArgument(StrCat("the URL ", what)); }

Status CheckCharacters(std::string_view text) {
  if (text.size() > kMaxUri) return Wrong(StrCat("is longer than ", kMaxUri, " bytes"));
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c <= ' ' || c > '~') {
      return Wrong(StrCat("has a space, a control character or one beyond ASCII at byte ", i,
                          "; percent-encode it"));
    }
    if (c == '\\' || c == '"' || c == '<' || c == '>') {
      return Wrong(StrCat("has a character that must be percent-encoded at byte ", i));
    }
    if (c == '#')
      return Wrong(StrCat("has a fragment ('#') at byte ", i, ", which cannot be sent"));
    if (c == '%' && !Escaped(text.substr(i))) {
      return Wrong(StrCat("has a '%' without two hexadecimal digits at byte ", i));
    }
  }
  return Status::Ok();
}

Status TakeScheme(std::string_view &rest, Uri &uri) {
  const size_t end = rest.find("://");
  if (end == std::string_view::npos)
    return Wrong("has no scheme; it begins with https:// or http://");
  uri.scheme = ToLower(rest.substr(0, end));
  if (uri.scheme != "http" && uri.scheme != "https") {
    return Wrong("has a scheme other than http and https");
  }
  rest.remove_prefix(end + 3);
  return Status::Ok();
}

bool IsHostName(std::string_view host) {
  return host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), [](char c) {
           return IsLetter(c) || IsDigit(c) || c == '-' || c == '.' || c == '_';
         });
}

bool IsBracketedIpv6(std::string_view host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return false;
  const std::string address(host.substr(1, host.size() - 2));
  in6_addr parsed{};
  return inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

// Sets the port; without digits, the scheme's default.
Status SetPort(std::string_view digits, Uri &uri) {
  uri.port = uri.IsTls() ? kHttpsPort : kHttpPort;
  if (digits.empty()) return Status::Ok();
  const bool is_number = digits.size() <= 5 && std::all_of(digits.begin(), digits.end(), IsDigit);
  const int64_t number = is_number ? ParseInt(digits).value_or(0) : 0;
  if (number < 1 || number > 65535) return Wrong("has a port that is not a number from 1 to 65535");
  uri.port = static_cast<uint16_t>(number);
  return Status::Ok();
}

Status SetAuthority(std::string_view authority, Uri &uri) {
  const size_t at = authority.rfind('@');
  uri.has_user_info = at != std::string_view::npos;
  if (uri.has_user_info) authority.remove_prefix(at + 1);
  const size_t bracket = authority.find(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = authority.substr(0, colon);
  if (host.empty()) return Wrong("has no host");
  if (!IsHostName(host) && !IsBracketedIpv6(host)) {
    return Wrong("has a host that is neither a name nor an address");
  }
  uri.host = ToLower(host);
  return SetPort(colon == std::string_view::npos ? "" : authority.substr(colon + 1), uri);
}

}  // namespace

std::string Uri::HostAndPort() const { return StrCat(host, ":", port); }

std::string Uri::Authority() const {
  return port == (IsTls() ? kHttpsPort : kHttpPort) ? host : HostAndPort();
}

Result<Uri> ParseUri(std::string_view text) {
  SMD_RETURN_IF_ERROR(CheckCharacters(text));
  Uri uri;
  SMD_RETURN_IF_ERROR(TakeScheme(text, uri));
  const size_t authority_end = std::min(text.find_first_of("/?"), text.size());
  SMD_RETURN_IF_ERROR(SetAuthority(text.substr(0, authority_end), uri));
  text.remove_prefix(authority_end);
  const size_t question = text.find('?');
  uri.path = text.substr(0, question);
  if (uri.path.empty()) uri.path = "/";
  if (question != std::string_view::npos) uri.query = text.substr(question + 1);
  return uri;
}

std::string PercentEncode(std::string_view text, Slashes slashes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c) || (c == '/' && slashes == Slashes::kKept)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15U]);
  }
  return out;
}

Result<std::string> PercentDecode(std::string_view text, Pluses pluses) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const std::optional<char> byte = Escaped(text.substr(i));
      if (!byte) {
        return InvalidArgument(StrCat("'%' without two hexadecimal digits at byte ", i));
      }
      out.push_back(*byte);
      i += 2;
    } else {
      out.push_back(text[i] == '+' && pluses == Pluses::kAreSpaces ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace smdebug::net
