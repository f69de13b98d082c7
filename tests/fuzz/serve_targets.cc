#include <algorithm>
#include <array>
#include <string>

#include "serve/access.h"
#include "serve/cursor.h"
#include "serve/request.h"
#include "target.h"

namespace smdebug::fuzz {
namespace {

namespace serve = cli::serve;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

// Returns the value of a header; "" if there is none.
std::string HeaderOf(const serve::Response &response, std::string_view name) {
  for (const auto &[each, value] : response.headers) {
    if (each == name) return value;
  }
  return "";
}

// One part of a request a line: method, path, host, cookies, authorization, token, cursor.
serve::Request RequestOf(std::string_view input) {
  const auto line = [&input] {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string text(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
    return text;
  };
  serve::Request request;
  request.method = line();
  request.path = line();
  request.host = line();
  request.cookies = line();
  request.authorization = line();
  const std::string token = line();
  if (!token.empty()) request.query.emplace("token", token);
  request.last_event_id = line();
  request.fetch_site = line();
  return request;
}

bool HasToken(const std::string &text) { return text.find(kToken) != std::string::npos; }

void Request(std::string_view input) {
  const serve::Request request = RequestOf(input);
  const serve::Access access(std::string(kToken), {}, false);
  const auto refusal = access.Refuse(request);
  const bool brings_token = HasToken(request.cookies) || HasToken(request.authorization) ||
                            HasToken(request.Text("token"));
  Require(refusal || brings_token, "nobody reads without the token");
  if (refusal) {
    Require(!HasToken(refusal->body), "no body has the token");
    Require(HeaderOf(*refusal, "Set-Cookie").empty() || brings_token, "only who has it gets it");
    const std::string location = HeaderOf(*refusal, "Location");
    Require(location.empty() || (location[0] == '/' && !location.starts_with("//")),
            "no redirect leads to another server");
    Require(location.find_first_of("\r\n \"<>") == std::string::npos, "a location is one header");
  }
  const std::string host = serve::HostOf(request.host);
  Require(serve::HostOf(host) == host, "a host survives being read");
  for (const char *name : {"token", "count"}) {
    try {
      const int64_t number = request.Whole(name, 1, 0, 100);
      Require(number >= 0 && number <= 100, "numbers are in their range");
      const double real = request.Number(name, 1, 0, 100);
      Require(real >= 0 && real <= 100, "numbers are in their range");
    } catch (const serve::BadRequest &error) {
      Require(error.Status() == 400, "a bad number is a bad request");
    }
  }
}

void Cursor(std::string_view input) {
  const auto cursor = serve::Cursor::Parse(input);
  if (!cursor) return;
  Require(cursor->runs.size() <= serve::Cursor::kMostRuns, "a cursor is small");
  const auto again = serve::Cursor::Parse(cursor->ToText());
  Require(again && *again == *cursor, "a cursor survives being written");
}

constexpr std::array kTargets = {
    Target{"serve_request", Request},
    Target{"serve_cursor", Cursor},
};

}  // namespace

std::span<const Target> ServeTargets() { return kTargets; }

}  // namespace smdebug::fuzz
