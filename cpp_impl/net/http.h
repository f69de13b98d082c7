// The HTTP interface for the layers above: requests and responses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace smdebug::net {

struct Header {
  std::string name;
  std::string value;
};

struct Timeouts {
  Clock::Duration connect = std::chrono::seconds(3);
  // Between the last byte of the request and the first byte of the response.
  Clock::Duration first_byte = std::chrono::seconds(10);
  // The exchange fails if fewer than `least_speed` bytes a second are sent or received for
  // this long.
  Clock::Duration stall = std::chrono::seconds(10);
  uint32_t least_speed = 1024;
  // For the whole exchange; zero: no limit.
  Clock::Duration whole = Clock::Duration::zero();
};

struct Request {
  std::string method = "GET";
  std::string url;  // absolute and encoded; sent unchanged
  std::vector<Header> headers;
  // Borrowed until the exchange is destroyed.
  std::vector<ByteSpan> body;
  // Receives the body of a response with `sink_status`, instead of Response::body.  It is
  // borrowed until the exchange is destroyed, and called in the client's thread.  A body
  // that exceeds its room fails with CORRUPT_DATA.
  ByteSink *sink = nullptr;
  int sink_status = 200;
  uint64_t sink_size = 0;  // the approximate number of bytes expected for the sink
  // A longer Response::body fails with CORRUPT_DATA.
  uint64_t body_limit = uint64_t{64} << 20;
  Timeouts timeouts;
  // False for the credentials servers of this machine or network, which no proxy may see.
  bool may_use_proxy = true;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;  // names in lower case
  std::string body;
  uint64_t received = 0;  // bytes of body, in `body` or in the sink

  // Returns the first header with this lower-case name, or nullptr.
  const std::string *Find(std::string_view name) const;
};

// A running request.  Only one thread may use it.
class Exchange {
 public:
  // Cancels the request if it has not ended.  Borrowed memory is not accessed after this.
  virtual ~Exchange() = default;

  // Waits for the response; call it only once.  Any response with a status is a success,
  // unless its body ends before the stated length or, over TLS, states no length.  Fails with
  //   INVALID_ARGUMENT  the request cannot be sent: because of the URL (see ParseUri()), user
  //              info in it, a header or the method
  //   NETWORK    no connection, reset, cut short; detail "cause" is one of "resolve",
  //              "connect", "reset", "short_body", "protocol" (no HTTP, or more headers
  //              than 512 or 64 KiB), "proxy", "other"
  //   TIMEOUT    one of the request's timeouts expired; detail "cause" is "connect",
  //              "first_byte", "stall" or "whole"
  //   TLS        the certificate or the handshake is refused
  //   CORRUPT_DATA  the body is longer than the sink or the limit
  //   AFTER_FORK    in a process forked after the client was created
  //   OUT_OF_MEMORY
  // Messages contain host and port, never the path, the query or a header.
  virtual Result<Response> Wait() = 0;
};

// Safe from any thread.  Never follows a redirect.  Keeps connections for later requests,
// and never shares one with a forked process.
class Http {
 public:
  virtual ~Http() = default;

  // Never blocks on the network.
  virtual std::unique_ptr<Exchange> Start(Request request) = 0;

  Result<Response> Send(Request request) { return Start(std::move(request))->Wait(); }
};

}  // namespace smdebug::net
