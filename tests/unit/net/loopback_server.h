// A server on 127.0.0.1 that sends the bytes of a test.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/strings.h"

namespace smdebug::net {

// The server's end of one connection.
class ServerConnection {
 public:
  explicit ServerConnection(int socket) : socket_(socket) {
    const timeval bound{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  }

  // Returns the head of a request with its blank line, or "" at the end.
  std::string ReadHead() {
    while (true) {
      const size_t end = read_.find("\r\n\r\n");
      if (end != std::string::npos) return Take(end + 4);
      if (!ReadMore()) return "";
    }
  }

  // Returns fewer bytes if the client closes earlier.
  std::string ReadBody(size_t size) {
    while (read_.size() < size && ReadMore()) {
    }
    return Take(std::min(size, read_.size()));
  }

  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // Waits until the client closes the connection, or the server stops.
  void WaitForEnd() {
    while (ReadMore()) read_.clear();
  }

  // From here on the kernel buffers little unread data.
  void KeepBufferSmall() {
    const int size = 32768;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }

  // Makes the connection end with a reset.
  void Reset() {
    const linger none{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }

 private:
  bool ReadMore() {
    char bytes[65536];
    const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
    if (count > 0) read_.append(bytes, static_cast<size_t>(count));
    return count > 0;
  }

  std::string Take(size_t size) {
    std::string taken = read_.substr(0, size);
    read_.erase(0, size);
    return taken;
  }

  const int socket_;
  std::string read_;
};

inline std::string Answer(int status, std::string_view body, std::string_view headers = "") {
  return StrCat("HTTP/1.1 ", status, " X\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n",
                body);
}

// Returns a header of a head by its lower-case name; "" if it is missing.
inline std::string HeaderOf(const std::string &head, std::string_view name) {
  const std::string wanted = StrCat("\n", name, ":");
  const size_t at = ToLower(head).find(wanted);
  if (at == std::string::npos) return "";
  const size_t begin = at + wanted.size();
  return std::string(Trim(std::string_view(head).substr(begin, head.find('\r', begin) - begin)));
}

inline size_t BodySize(const std::string &head) {
  return static_cast<size_t>(ParseInt(HeaderOf(head, "content-length")).value_or(0));
}

// Runs a function for each connection in a separate thread.
class LoopbackServer {
 public:
  using Handler = std::function<void(ServerConnection &)>;
  // Returns the whole answer to a request's head and body.
  using Responder = std::function<std::string(const std::string &head, const std::string &body)>;

  explicit LoopbackServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *any = reinterpret_cast<sockaddr *>(&address);
    if (bind(listener_, any, size) != 0 || listen(listener_, 512) != 0 ||
        getsockname(listener_, any, &size) != 0) {
      ADD_FAILURE() << "no socket on 127.0.0.1";
      return;
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  // Answers all requests on each connection.
  static std::unique_ptr<LoopbackServer> Answering(Responder responder) {
    return std::make_unique<LoopbackServer>([respond = std::move(responder)](
                                                ServerConnection &connection) {
      for (std::string head = connection.ReadHead(); !head.empty(); head = connection.ReadHead()) {
        if (!connection.Send(respond(head, connection.ReadBody(BodySize(head))))) return;
      }
    });
  }

  ~LoopbackServer() {
    is_stopped_ = true;
    shutdown(listener_, SHUT_RDWR);
    if (acceptor_.joinable()) acceptor_.join();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const Served &served : served_) shutdown(served.socket, SHUT_RDWR);
    }
    for (Served &served : served_) {
      served.thread.join();
      if (!served.is_closed) close(served.socket);
    }
    close(listener_);
  }
  LoopbackServer(const LoopbackServer &) = delete;
  LoopbackServer &operator=(const LoopbackServer &) = delete;

  uint16_t Port() const { return port_; }
  std::string Url(std::string_view path = "/") const {
    return StrCat("http://127.0.0.1:", port_, path);
  }
  int Accepted() const { return accepted_; }

 private:
  struct Served {
    int socket = -1;
    bool is_closed = false;
    std::thread thread;
  };

  void Accept() {
    while (true) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0 || is_stopped_) {
        if (socket >= 0) close(socket);
        return;
      }
      ++accepted_;
      const std::lock_guard<std::mutex> lock(mutex_);
      Served &served = served_.emplace_back();
      served.socket = socket;
      served.thread = std::thread([this, &served] { Serve(served); });
    }
  }

  void Serve(Served &served) {
    ServerConnection connection(served.socket);
    handler_(connection);
    const std::lock_guard<std::mutex> lock(mutex_);
    close(served.socket);
    served.socket = -1;
    served.is_closed = true;
  }

  const Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> is_stopped_{false};
  std::atomic<int> accepted_{0};
  std::thread acceptor_;
  std::mutex mutex_;
  std::list<Served> served_;
};

}  // namespace smdebug::net
