// A progress bar on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace smdebug::cli {

// Shows a progress bar if stderr is a terminal and the work takes longer than an instant.  The
// destructor removes it.  In other threads than the main one, as those of a server, it shows
// nothing; the main thread has at most one at a time.
class Progress {
 public:
  // `what` is the activity, such as "Reading".  `total` is the number of its parts, or 0 if that is
  // unknown.
  Progress(std::string what, size_t total);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  // Reports that further parts are done.
  void Advance(size_t parts = 1);
  void SetTotal(size_t total) { total_ = total; }

  // Removes the bar until it is drawn again, so that a line can be printed.
  static void Wipe();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw();

  const std::string what_;
  size_t total_;
  size_t done_ = 0;
  bool is_seen_ = false;  // this is the main thread, and stderr is a terminal
  bool is_drawn_ = false;
  Clock::time_point next_;
};

}  // namespace smdebug::cli
