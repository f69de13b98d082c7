// Sockets that wait for clients.
#pragma once

#include <string>

namespace smdebug::cli::serve {

// Closes the socket, and removes its file, when destroyed, unless Release() was called.
class ListeningSocket {
 public:
  // An address of this machine ("127.0.0.1", "::1", "0.0.0.0") and a port; 0: any that is free.
  // Fails by throwing UsageError (not an address) or smdebug::Error.
  static ListeningSocket OnAddress(const std::string &address, int port);
  // A file that only this user may open.  Replaces the file of a server that has stopped.  Fails by
  // throwing smdebug::Error.
  static ListeningSocket OnFile(const std::string &path);

  ListeningSocket(ListeningSocket &&other) noexcept;
  ListeningSocket(const ListeningSocket &) = delete;
  ListeningSocket &operator=(const ListeningSocket &) = delete;
  ~ListeningSocket();

  int Port() const { return port_; }
  // The address for a URL: an IPv6 address has brackets.
  const std::string &Host() const { return host_; }
  // The caller closes the socket; its file is still removed.
  int Release();

 private:
  ListeningSocket() = default;

  int socket_ = -1;
  int port_ = 0;
  std::string host_;
  std::string file_;
};

// Returns true if only programs on this machine reach the address.  Fails by throwing UsageError if
// it is none.
bool IsLoopback(const std::string &address);

}  // namespace smdebug::cli::serve
