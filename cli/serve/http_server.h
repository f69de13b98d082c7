// Serves HTTP with libmicrohttpd, which this file alone knows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "serve/event_stream.h"
#include "serve/request.h"

namespace smdebug::cli::serve {

// One of the three is set.
struct Reply {
  std::optional<Response> response;     // is ready
  std::function<Response()> work;       // makes the response in another thread; may throw
  std::shared_ptr<EventStream> stream;  // the response is its events
};

struct ServerOptions {
  int socket = -1;  // listens; the server closes it
  bool has_tls = false;
  std::string certificate;  // PEM
  std::string key;
};

// Limits, which bound memory and threads.
constexpr unsigned kMostConnections = 192;
constexpr unsigned kMostHeaderBytes = 24 * 1024;  // a request with longer headers is refused
constexpr unsigned kIdleSeconds = 30;             // without progress, until a client is dropped

class HttpServer {
 public:
  // Called in the server's thread, which it must not block.
  using Answer = std::function<Reply(const Request &)>;

  // Returns false if the library was built without TLS.
  static bool HasTls();

  // Fails by throwing smdebug::Error.
  HttpServer(const ServerOptions &options, Answer answer);
  // Waits for work that has begun.  All event streams must have ended.
  ~HttpServer();
  HttpServer(const HttpServer &) = delete;
  HttpServer &operator=(const HttpServer &) = delete;

 private:
  class Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace smdebug::cli::serve
