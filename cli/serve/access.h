// Decides who may read: checks the method, the host and the token of each request.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "serve/request.h"

namespace smdebug::cli::serve {

// Returns 128 random bits as text.  Throws std::runtime_error if the system has none.
std::string MakeToken();

// Compares without stopping at the first difference, so that the time says nothing about it.
bool AreEqual(std::string_view a, std::string_view b);

// Returns the host of a Host header without its port, in lower case; "" if it is malformed.  An
// IPv6 address keeps its brackets.
std::string HostOf(std::string_view header);

// Returns true for an IPv4 address, or an IPv6 address in brackets.
bool IsAddress(std::string_view host);

// Returns the value of a cookie; "" if there is none.
std::string CookieOf(std::string_view header, std::string_view name);

// Immutable.  Any thread.
class Access {
 public:
  // `hosts` are further names that the Host header may have.
  Access(std::string token, const std::set<std::string> &hosts, bool is_tls);

  // Returns nothing if the request may be answered; else the response: a refusal, or for a browser
  // that brings the token in the URL, a redirect to the URL without it, with a cookie.
  std::optional<Response> Refuse(const Request &request) const;

 private:
  bool IsKnownHost(const std::string &header) const;
  Response Redirect(const Request &request) const;

  const std::string token_;
  const std::string cookie_;  // its name differs between tokens: cookies ignore ports
  const bool is_tls_;
  std::set<std::string> hosts_;
};

}  // namespace smdebug::cli::serve
