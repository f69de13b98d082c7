// Http over libcurl.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http.h"

namespace smdebug::net {

struct HttpOptions {
  // A file of certificates (PEM), trusted instead of the system's.  Empty: the system's,
  // or those that SSL_CERT_FILE and SSL_CERT_DIR name instead.
  std::string ca_bundle;
  std::string user_agent = "libsmdebug";
  // Of the requests to one host, so many are under way at a time; the others wait.
  uint32_t connections_per_host = 32;
};

// Over HTTP/1.1, TLS 1.2 and later, always verified.  The proxies' environment variables
// (http_proxy, https_proxy, all_proxy, no_proxy, in either case) are read here and never
// later.  The one thread starts with the first request and ends with the last owner: the
// client or an exchange of it.  A request is sent a second time if a kept connection
// turns out to be closed before any of the response has come.
// Fails as the CA bundle's reading does, and with INVALID_ARGUMENT.
Result<std::shared_ptr<Http>> OpenCurlHttp(HttpOptions options);

}  // namespace smdebug::net
