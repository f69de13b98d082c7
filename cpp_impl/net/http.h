// HTTP as the layers above need it: requests out, responses in.
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
  // From the request's last byte to the response's first.
  Clock::Duration first_byte = std::chrono::seconds(10);
  // Given up when fewer than `least_speed` bytes a second arrive or leave over so long.
  Clock::Duration stall = std::chrono::seconds(10);
  uint32_t least_speed = 1024;
  // Of the whole exchange; zero: none.
  Clock::Duration whole = Clock::Duration::zero();
};

struct Request {
  std::string method = "GET";
  std::string url;  // absolute, encoded; sent as it is
  std::vector<Header> headers;
  // Lent until the exchange is destroyed.
  std::vector<ByteSpan> body;
  // Where the body of a response with `sink_status` goes, other than Response::body;
  // lent until the exchange is destroyed, and called in a thread of the client's.  A
  // body that it has no room for fails with CORRUPT_DATA.
  ByteSink *sink = nullptr;
  int sink_status = 200;
  uint64_t sink_size = 0;  // about so many bytes are expected there
  // A longer Response::body fails with CORRUPT_DATA.
  uint64_t body_limit = uint64_t{64} << 20;
  Timeouts timeouts;
  // Credentials' servers on this machine or network are never asked through a proxy.
  bool may_use_proxy = true;
};

struct Response {
  int status = 0;
  std::vector<Header> headers;  // names in lower case
  std::string body;
  uint64_t received = 0;  // bytes of body, wherever they went

  // The first header of that (lower-case) name, or nullptr.
  const std::string *Find(std::string_view name) const;
};

// A request under way.  For one thread.
class Exchange {
 public:
  // Gives up what has not ended; then nothing lent is touched any more.
  virtual ~Exchange() = default;

  // Once.  Any response with a status is a success here, but for a body that ends before
  // its announced length, or over TLS has none.  Fails with
  //   INVALID_ARGUMENT  what cannot be sent: a URL (see ParseUri) or one with user info,
  //              a header, a method
  //   NETWORK    no connection, reset, cut short; detail "cause" is one of "resolve",
  //              "connect", "reset", "short_body", "protocol" (no HTTP, or more headers
  //              than 512 or 64 KiB), "proxy", "other"
  //   TIMEOUT    by one of the request's timeouts; detail "cause" = "connect",
  //              "first_byte", "stall" or "whole"
  //   TLS        the certificate or the handshake is refused
  //   CORRUPT_DATA  longer than the sink or the limit
  //   AFTER_FORK    in a child forked since the client was made
  //   OUT_OF_MEMORY
  // Messages name host and port, never the path, the query or a header.
  virtual Result<Response> Wait() = 0;
};

// Safe from any thread.  Never follows a redirect; keeps connections for later
// requests; never shares one with a process forked since.
class Http {
 public:
  virtual ~Http() = default;

  // Never blocks on the network.
  virtual std::unique_ptr<Exchange> Start(Request request) = 0;

  Result<Response> Send(Request request) { return Start(std::move(request))->Wait(); }
};

}  // namespace smdebug::net
