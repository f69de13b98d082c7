// The server-sent events of one client.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "serve/request.h"

namespace smdebug::cli::serve {

// The hub writes and the server reads.  Holds at most one event: the hub offers the next one when
// the client has taken the last, so that a slow client costs no memory.  Any thread.
class EventStream {
 public:
  explicit EventStream(Request request) : request_(std::move(request)) {}

  // The subscription.
  const Request &GetRequest() const { return request_; }

  // ---- for the hub ----

  // Returns true if the client has taken all that was offered, and waits.
  bool IsWaiting() const;
  // Returns true if the client has gone.
  bool HasGone() const;
  void Offer(const std::string &text);
  // No event follows.
  void End();

  // ---- for the server ----

  static constexpr ptrdiff_t kEnd = -1;
  // Copies at most `most` bytes and returns their number.  If there are none, calls `suspend` and
  // returns 0; a later Offer() or End() then calls `resume`.  Returns kEnd after the end.
  ptrdiff_t Read(char *out, size_t most, const std::function<void()> &suspend,
                 const std::function<void()> &resume);
  // The client has gone: nothing resumes it any more.
  void Leave();

 private:
  void Resume();

  const Request request_;
  mutable std::mutex mutex_;
  std::string text_;
  size_t taken_ = 0;
  bool has_ended_ = false;
  bool has_gone_ = false;
  std::function<void()> resume_;  // set while the server's connection is suspended
};

}  // namespace smdebug::cli::serve
