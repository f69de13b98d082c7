// Converts libcurl's codes to a Status.
#include <curl/curl.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/strings.h"
#include "net/curl_transfer.h"

namespace smdebug::net {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns true if the connection broke during the handshake, which says nothing about the
// certificate.
bool IsBrokenHandshake(std::string_view text) {
  static constexpr std::array kSigns = {"SSL_ERROR_SYSCALL", "Connection reset", "Broken pipe",
                                        "unexpected eof", "errno"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [text](const char *sign) { return Contains(text, sign); });
}

const char *CauseOf(const Failure &failure) {
  if (failure.proxy_status != 0 && failure.proxy_status / 100 != 2) return "proxy";
  switch (failure.curl_code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY: return "proxy";
    case CURLE_COULDNT_RESOLVE_HOST: return "resolve";
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED: return "connect";
    case CURLE_RECV_ERROR: return Contains(failure.curl_text, "chunk") ? "protocol" : "reset";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING: return "reset";
    case CURLE_PARTIAL_FILE: return "short_body";
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_FILESIZE_EXCEEDED: return "protocol";
    default: return "other";
  }
}

std::string_view AdviceOn(std::string_view cause) {
  if (cause == "resolve") return "; check the name of the endpoint and the name server";
  if (cause == "connect") return "; check the endpoint, and that its server is running";
  if (cause == "proxy") return "; check the proxy's environment variables";
  if (cause == "protocol")
    return "; check that the endpoint speaks HTTP, or HTTPS for an https URL";
  return "";
}

bool IsTls(const Failure &failure) {
  switch (failure.curl_code) {
    case CURLE_SSL_CONNECT_ERROR: return !IsBrokenHandshake(failure.curl_text);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED: return true;
    default: return false;
  }
}

std::string Seconds(Clock::Duration time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return ms % 1000 == 0 ? StrCat(ms / 1000, " s") : StrCat(ms, " ms");
}

Status TimedOut(const std::string &where, const char *cause, std::string_view what) {
  return Status(Code::kTimeout, StrCat(where, ": ", what)).With("cause", cause);
}

Status OfCurl(const Failure &failure, const std::string &where, const Timeouts &timeouts) {
  const auto code = static_cast<CURLcode>(failure.curl_code);
  const std::string reason = failure.curl_text.empty() ? std::string(curl_easy_strerror(code))
                                                       : Excerpt(failure.curl_text);
  if (code == CURLE_OUT_OF_MEMORY) return {Code::kOutOfMemory, StrCat(where, ": ", reason)};
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return TimedOut(where, "connect", StrCat("no connection within ", Seconds(timeouts.connect)));
  }
  if (code == CURLE_URL_MALFORMAT) {
    return InvalidArgument(StrCat(where, ": the URL cannot be sent: ", reason));
  }
  if (IsTls(failure)) {
    return {Code::kTls, StrCat(where, ": the TLS connection failed: ", reason,
                               "; for a private authority, set its CA bundle (PEM)")};
  }
  const char *cause = CauseOf(failure);
  return Status(Code::kNetwork, StrCat(where, ": ", reason, AdviceOn(cause))).With("cause", cause);
}

}  // namespace

Status FailureStatus(const Failure &failure, const Uri &uri, const Timeouts &timeouts) {
  const std::string where = uri.HostAndPort();
  switch (failure.ending) {
    case Ending::kCurl: break;
    case Ending::kFirstByte:
      return TimedOut(where, "first_byte",
                      StrCat("no response within ", Seconds(timeouts.first_byte),
                             " of the end of the request"));
    case Ending::kStall:
      return TimedOut(where, "stall",
                      StrCat("less than ", timeouts.least_speed, " bytes a second over ",
                             Seconds(timeouts.stall)));
    case Ending::kWhole:
      return TimedOut(where, "whole", StrCat("not done within ", Seconds(timeouts.whole)));
    case Ending::kGivenUp: return {Code::kCancelled, StrCat(where, ": the request was cancelled")};
    case Ending::kTooLong:
      return {Code::kCorruptData, StrCat(where, ": the body is longer than expected")};
    case Ending::kManyHeaders:
      return Status(Code::kNetwork, StrCat(where, ": more headers than 512 or 64 KiB"))
          .With("cause", "protocol");
    case Ending::kOpenEnd:
      return Status(Code::kNetwork, StrCat(where,
                                           ": the response does not state its length, so "
                                           "it may be truncated"))
          .With("cause", "short_body");
    case Ending::kNoMemory:
      return {Code::kOutOfMemory, StrCat(where, ": no memory for the response")};
  }
  return OfCurl(failure, where, timeouts);
}

}  // namespace smdebug::net
