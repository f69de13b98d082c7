#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace smdebug::cli {
namespace {

constexpr std::chrono::milliseconds kInstant{150};
constexpr std::chrono::milliseconds kBetweenDrawings{50};
constexpr size_t kLongestBar = 40;

// Initialised before main(), by the main thread.
const std::thread::id kMainThread = std::this_thread::get_id();

Progress *shown = nullptr;  // of the main thread

size_t WidthOfStderr() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool StderrIsSeen() {
  const char *const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

Progress::Progress(std::string what, size_t total)
    : what_(std::move(what)),
      total_(total),
      is_seen_(std::this_thread::get_id() == kMainThread && StderrIsSeen()),
      next_(Clock::now() + kInstant) {
  if (is_seen_) shown = this;
}

Progress::~Progress() {
  if (!is_seen_) return;
  Wipe();
  shown = nullptr;
}

void Progress::Advance(size_t parts) {
  done_ += parts;
  if (!is_seen_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenDrawings;
  Draw();
}

void Progress::Draw() {
  std::string line = what_;
  if (total_ > 0) {
    const size_t done = std::min(done_, total_);
    const std::string end = " " + std::to_string(done * 100 / total_) + " %";
    const size_t width = WidthOfStderr();
    const size_t taken = line.size() + end.size() + 4;
    const size_t length = width > taken ? std::min(width - taken, kLongestBar) : 0;
    const size_t full = length * done / total_;
    if (length > 0) line += " [" + std::string(full, '#') + std::string(length - full, ' ') + "]";
    line = (line + end).substr(0, width - 1);
  } else if (done_ > 0) {
    line += " " + std::to_string(done_);
  }
  static_cast<void>(std::fprintf(stderr, "\r%s\x1b[K", line.c_str()));
  is_drawn_ = true;
}

void Progress::Wipe() {
  if (shown == nullptr || !shown->is_drawn_) return;
  static_cast<void>(std::fputs("\r\x1b[K", stderr));
  shown->is_drawn_ = false;
}

}  // namespace smdebug::cli
