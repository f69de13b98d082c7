// A bar on stderr while something takes its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace smdebug::cli {

// Shown where stderr is a terminal and the work takes longer than an instant; gone without a trace
// when this is.  One at a time, on the main thread.
class Progress {
 public:
  // `what` is done, as "Reading"; in `total` parts, or 0 if that is not known.
  Progress(std::string what, size_t total);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  // So many parts more are done.
  void Advance(size_t parts = 1);
  void SetTotal(size_t total) { total_ = total; }

  // Takes the bar away until it is drawn again, so that a line can be printed.
  static void Wipe();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw();

  const std::string what_;
  size_t total_;
  size_t done_ = 0;
  bool is_seen_ = false;  // whether stderr is a terminal
  bool is_drawn_ = false;
  Clock::time_point next_;
};

}  // namespace smdebug::cli
