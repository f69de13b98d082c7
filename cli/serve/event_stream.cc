#include "serve/event_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace smdebug::cli::serve {

bool EventStream::IsWaiting() const {
  const std::lock_guard lock(mutex_);
  return resume_ != nullptr;
}

bool EventStream::HasGone() const {
  const std::lock_guard lock(mutex_);
  return has_gone_;
}

void EventStream::Offer(const std::string &text) {
  const std::lock_guard lock(mutex_);
  text_.erase(0, taken_);
  taken_ = 0;
  text_ += text;
  Resume();
}

void EventStream::End() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  Resume();
}

// Resumes under the lock, so that the connection still exists: Leave() takes the lock before it is
// freed.
void EventStream::Resume() {
  const std::function<void()> resume = std::exchange(resume_, nullptr);
  if (resume) resume();
}

ptrdiff_t EventStream::Read(char *out, size_t most, const std::function<void()> &suspend,
                            const std::function<void()> &resume) {
  const std::lock_guard lock(mutex_);
  const size_t count = std::min(most, text_.size() - taken_);
  if (count > 0) {
    std::memcpy(out, text_.data() + taken_, count);
    taken_ += count;
    if (taken_ == text_.size()) {
      text_.clear();
      taken_ = 0;
    }
    return static_cast<ptrdiff_t>(count);
  }
  if (has_ended_) return kEnd;
  resume_ = resume;
  suspend();
  return 0;
}

void EventStream::Leave() {
  const std::lock_guard lock(mutex_);
  has_gone_ = true;
  resume_ = nullptr;
}

}  // namespace smdebug::cli::serve
