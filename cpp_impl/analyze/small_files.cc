#include "analyze/small_files.h"

namespace smdebug::analyze {
namespace {

constexpr size_t kMostForgotten = 100'000;

size_t HashOf(std::string_view name) { return std::hash<std::string_view>()(name); }

}  // namespace

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
  if (!forgotten_.empty() && forgotten_.contains(HashOf(name))) most_ = kMostKept;
  kept_.push_front({name, std::move(content)});
  by_name_.emplace(kept_.front().name, kept_.begin());
  bytes_ += kept_.front().Cost();
  while (bytes_ > most_) {
    Forget(kept_.back());
    kept_.pop_back();
  }
  if (most_ == kMostKept) forgotten_.clear();
}

void SmallFiles::Forget(const Kept &kept) {
  bytes_ -= kept.Cost();
  by_name_.erase(kept.name);
  if (most_ < kMostKept && forgotten_.size() < kMostForgotten) {
    forgotten_.insert(HashOf(kept.name));
  }
}

void SmallFiles::KeepAll() {
  const MutexLock lock(mutex_);
  most_ = kMostKept;
}

}  // namespace smdebug::analyze
