// Implements Http with libcurl.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http.h"

namespace smdebug::net {

struct HttpOptions {
  // A file of certificates (PEM) that replaces the system's certificates.  If empty, trusts
  // the certificates that SSL_CERT_FILE and SSL_CERT_DIR name, else those of the system.
  std::string ca_bundle;
  std::string user_agent = "libsmdebug";
  // The limit of concurrent requests to one host; further requests wait.
  uint32_t connections_per_host = 32;
};

// Opens a client for HTTP/1.1, and TLS 1.2 or later, which always verifies certificates.
// Reads the proxy variables (http_proxy, https_proxy, all_proxy, no_proxy, in either case)
// now and never later.  The client's only thread starts with the first request and stops with
// the last owner, which is the client or one of its exchanges.  If a reused connection closes
// before any byte of the response arrives, the request is sent again.
// Fails with INVALID_ARGUMENT, and if the CA bundle cannot be read.
Result<std::shared_ptr<Http>> OpenCurlHttp(HttpOptions options);

}  // namespace smdebug::net
