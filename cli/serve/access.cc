#include "serve/access.h"

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace smdebug::cli::serve {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr std::string_view kHex = "0123456789abcdef";
constexpr size_t kNamedDigits = 8;  // of the token's hash, in the cookie's name

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// FNV-1a: names a cookie, and is not a secret's only guard.
std::string ShortHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  std::string out;
  for (size_t i = 0; i < kNamedDigits; ++i) out += kHex[(hash >> (60 - 4 * i)) & 15];
  return out;
}

// Returns the URL's path for a Location header.  It begins with one slash, so that it names no
// other server.
std::string SafePath(std::string_view path) {
  std::string out = "/";
  for (const char byte : path.substr(std::min(path.find_first_not_of('/'), path.size()))) {
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' ||
                          byte == '_' || byte == '/' || byte == ',';
    if (is_plain) out += byte;
  }
  return out;
}

}  // namespace

std::string MakeToken() {
  std::array<unsigned char, kTokenBytes> bytes{};
  size_t filled = 0;
  while (filled < bytes.size()) {
    // Not getrandom(), which glibc before 2.25 lacks.
    const long got = syscall(SYS_getrandom, bytes.data() + filled, bytes.size() - filled, 0U);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw std::runtime_error(std::string("the system has no random numbers: ") +
                               std::strerror(errno));
    }
    filled += static_cast<size_t>(got);
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kHex[byte >> 4];
    token += kHex[byte & 15];
  }
  return token;
}

bool AreEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

std::string HostOf(std::string_view header) {
  std::string_view host = header;
  std::string_view rest;
  if (header.starts_with('[')) {
    const size_t close = header.find(']');
    if (close == std::string_view::npos) return "";
    host = header.substr(0, close + 1);
    rest = header.substr(close + 1);
  } else if (const size_t colon = header.find(':'); colon != std::string_view::npos) {
    host = header.substr(0, colon);
    rest = header.substr(colon);
  }
  int64_t port = 0;
  if (!rest.empty() && (rest[0] != ':' || !ParseWhole(rest.substr(1), &port))) return "";
  if (port < 0 || port > 65535) return "";
  std::string lower;
  for (const char letter : host) lower += Lower(letter);
  return lower;
}

bool IsAddress(std::string_view host) {
  std::string text(host);
  std::array<unsigned char, 16> bytes{};
  if (text.find('\0') != std::string::npos) return false;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return true;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

std::string CookieOf(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    return std::string(pair.substr(equals + 1));
  }
  return "";
}

Access::Access(std::string token, const std::set<std::string> &hosts, bool is_tls)
    : token_(std::move(token)), cookie_("smdebug_" + ShortHash(token_)), is_tls_(is_tls) {
  hosts_.insert("localhost");
  for (const std::string &host : hosts) hosts_.insert(HostOf(host));
  hosts_.erase("");
}

// An attacker's page can give its own name the address of this server, and then read the answers.
// It cannot do so with a name that is an address.
bool Access::IsKnownHost(const std::string &header) const {
  const std::string host = HostOf(header);
  return !host.empty() && (hosts_.count(host) > 0 || IsAddress(host));
}

Response Access::Redirect(const Request &request) const {
  const std::string path = SafePath(request.path);
  Response response = TextResponse(303, "The token is in a cookie now.");
  if (request.fetch_site == "cross-site") {
    // The browser does not send a strict cookie after a redirect from another site's link.  A page
    // that goes on by itself is this site's own.
    response = {200, "text/html; charset=utf-8",
                "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=" + path + "\">\n"};
  } else {
    response.headers.emplace_back("Location", path);
  }
  response.headers.emplace_back(
      "Set-Cookie",
      cookie_ + "=" + token_ + "; HttpOnly; SameSite=Strict; Path=/" + (is_tls_ ? "; Secure" : ""));
  return response;
}

std::optional<Response> Access::Refuse(const Request &request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    Response response = TextResponse(405, "Only GET and HEAD are allowed: this server reads only.");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  if (!IsKnownHost(request.host)) {
    return TextResponse(421, "This server does not have that name; give it with --host NAME.");
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string &header = request.authorization;
  const bool has_header = header.starts_with(kBearer) &&
                          AreEqual(std::string_view(header).substr(kBearer.size()), token_);
  if (has_header || AreEqual(CookieOf(request.cookies, cookie_), token_)) {
    if (request.query.count("token") == 0) return std::nullopt;
    return Redirect(request);
  }
  if (AreEqual(request.Text("token"), token_)) return Redirect(request);
  Response response = TextResponse(
      401, "The token is missing or wrong; open the address that smdebug serve prints.");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace smdebug::cli::serve
