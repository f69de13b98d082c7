#include "analyze/small_files.h"

namespace smdebug::analyze {

std::shared_ptr<const AlignedBuffer> SmallFiles::Find(const std::string &name) {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return nullptr;
  if (kept_.front().name == name) return kept_.front().content;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->content;
}

void SmallFiles::Keep(const std::string &name, std::shared_ptr<const AlignedBuffer> content) {
  if (content->Size() > kLargest) return;
  const MutexLock lock(mutex_);
  if (by_name_.contains(name)) return;  // another thread was faster
  kept_.push_front({name, std::move(content)});
  by_name_.emplace(kept_.front().name, kept_.begin());
  bytes_ += kept_.front().Cost();
  while (bytes_ > kMostKept) {
    bytes_ -= kept_.back().Cost();
    by_name_.erase(kept_.back().name);
    kept_.pop_back();
  }
}

}  // namespace smdebug::analyze
