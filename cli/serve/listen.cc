#include "serve/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "exit_code.h"
#include "smdebug.hpp"
#include "text.h"

namespace smdebug::cli::serve {
namespace {

constexpr int kBacklog = 64;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr *Get() { return reinterpret_cast<sockaddr *>(&storage); }
};

Address Parse(const std::string &text, int port) {
  Address address;
  auto *const v4 = reinterpret_cast<sockaddr_in *>(&address.storage);
  auto *const v6 = reinterpret_cast<sockaddr_in6 *>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(sockaddr_in6);
  } else {
    throw UsageError("--listen needs an address such as 127.0.0.1 or 0.0.0.0, not '" +
                     Printable(text) + "'");
  }
  return address;
}

[[noreturn]] void Fail(const std::string &what) {
  const smd_code code = errno == EACCES ? SMD_PERMISSION : SMD_IO;
  throw Error(code, what + ": " + std::strerror(errno));
}

// Returns true if a server answers at the file.
bool IsServed(const sockaddr_un &address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  const int answer = connect(probe, reinterpret_cast<const sockaddr *>(&address), sizeof address);
  const bool is_refused = answer != 0 && errno == ECONNREFUSED;
  close(probe);
  return !is_refused;
}

}  // namespace

ListeningSocket ListeningSocket::OnAddress(const std::string &address, int port) {
  Address at = Parse(address, port);
  ListeningSocket made;
  made.socket_ = socket(at.Get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made.socket_ < 0) Fail("cannot open a socket");
  const int on = 1;
  setsockopt(made.socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const std::string place = address + ", port " + std::to_string(port);
  if (bind(made.socket_, at.Get(), at.size) != 0) Fail("cannot listen at " + place);
  if (listen(made.socket_, kBacklog) != 0) Fail("cannot listen at " + place);
  if (getsockname(made.socket_, at.Get(), &at.size) != 0) Fail("cannot listen at " + place);
  const bool is_v6 = at.Get()->sa_family == AF_INET6;
  made.port_ = ntohs(is_v6 ? reinterpret_cast<sockaddr_in6 *>(&at.storage)->sin6_port
                           : reinterpret_cast<sockaddr_in *>(&at.storage)->sin_port);
  made.host_ = is_v6 ? "[" + address + "]" : address;
  return made;
}

ListeningSocket ListeningSocket::OnFile(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw UsageError("--unix: the path is too long; at most " +
                     std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat status {};
  const bool is_socket = lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  if (is_socket && !IsServed(address)) unlink(path.c_str());
  ListeningSocket made;
  made.socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made.socket_ < 0) Fail("cannot open a socket");
  const mode_t before = umask(S_IXUSR | S_IRWXG | S_IRWXO);
  const int bound = bind(made.socket_, reinterpret_cast<sockaddr *>(&address), sizeof address);
  const int error = errno;
  umask(before);
  errno = error;
  if (bound != 0) Fail("cannot listen at " + Printable(path));
  made.file_ = path;
  if (listen(made.socket_, kBacklog) != 0) Fail("cannot listen at " + Printable(path));
  made.host_ = "localhost";
  return made;
}

ListeningSocket::ListeningSocket(ListeningSocket &&other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      port_(other.port_),
      host_(std::move(other.host_)),
      file_(std::exchange(other.file_, {})) {}

ListeningSocket::~ListeningSocket() {
  if (socket_ >= 0) close(socket_);
  if (!file_.empty()) unlink(file_.c_str());
}

int ListeningSocket::Release() { return std::exchange(socket_, -1); }

bool IsLoopback(const std::string &address) {
  Address parsed = Parse(address, 0);
  if (parsed.Get()->sa_family == AF_INET) {
    constexpr uint32_t kLoopback = 127;
    return ntohl(reinterpret_cast<sockaddr_in *>(&parsed.storage)->sin_addr.s_addr) >> 24 ==
           kLoopback;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6 *>(&parsed.storage)->sin6_addr) != 0;
}

}  // namespace smdebug::cli::serve
