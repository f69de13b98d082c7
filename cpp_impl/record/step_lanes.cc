#include "record/step_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smdebug::record {

StepLanes::Lanes::iterator StepLanes::Newest() {
  const auto newest = std::find_if(lanes_.rbegin(), lanes_.rend(),
                                   [](const auto &lane) { return lane->step != nullptr; });
  return newest == lanes_.rend() ? lanes_.end() : std::prev(newest.base());
}

void StepLanes::Add(std::shared_ptr<Step> step, Item item) {
  item.sequence = last_sequence_ + 1;
  const auto newest = step ? Newest() : lanes_.end();
  if (newest != lanes_.end() && (*newest)->step == step) {
    (*newest)->items.push_back(std::move(item));
  } else {
    auto lane = std::make_shared<Lane>();
    lane->step = std::move(step);
    lane->begin = item.sequence;
    lane->items.push_back(std::move(item));
    lanes_.push_back(std::move(lane));
  }
  ++last_sequence_;
}

void StepLanes::AddBefore(const std::shared_ptr<Step> &step, Item item) {
  const auto newest = Newest();
  if (newest == lanes_.end() || (*newest)->step != step) return Add(nullptr, std::move(item));
  auto lane = std::make_shared<Lane>();
  lane->begin = item.sequence = (*newest)->begin;  // lanes are in the order of these
  lane->items.push_back(std::move(item));
  lanes_.insert(newest, std::move(lane));
}

bool StepLanes::HasWork(size_t index) const {
  const Lane &lane = *lanes_[index];
  if (lane.is_taken) return false;
  if (lane.step && lane.step->is_dropped) return true;
  if (lane.items.empty()) return false;
  const Item::Kind kind = lane.items.front().kind;
  return index == 0 || (kind != Item::Kind::kIndex && kind != Item::Kind::kFile);
}

bool StepLanes::HasWork() const {
  for (size_t i = 0; i < std::min(ahead_, lanes_.size()); ++i) {
    if (HasWork(i)) return true;
  }
  return false;
}

std::shared_ptr<Lane> StepLanes::Take() {
  for (size_t i = 0; i < std::min(ahead_, lanes_.size()); ++i) {
    if (!HasWork(i)) continue;
    lanes_[i]->is_taken = true;
    return lanes_[i];
  }
  return nullptr;
}

void StepLanes::GiveBack(Lane &lane, bool is_done) {
  lane.is_taken = false;
  if (!is_done) return;
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const auto &other) { return other.get() == &lane; });
  if (found != lanes_.end()) lanes_.erase(found);
}

bool StepLanes::IsDoneUpTo(uint64_t sequence) const {
  for (const auto &lane : lanes_) {
    if (lane->begin > sequence) return true;
    // The worker of a dropped step has taken its items, and releases them.
    if (lane->is_taken && lane->items.empty()) return false;
    if (!lane->items.empty() && lane->items.front().sequence <= sequence) return false;
  }
  return true;
}

std::vector<std::shared_ptr<Lane>> StepLanes::RemoveRest() {
  const auto rest = std::stable_partition(lanes_.begin(), lanes_.end(), [](const auto &lane) {
    return lane->is_taken &&
           (lane->items.empty() || lane->items.front().kind != Item::Kind::kBatch);
  });
  std::vector<std::shared_ptr<Lane>> removed(rest, lanes_.end());
  lanes_.erase(rest, lanes_.end());
  return removed;
}

}  // namespace smdebug::record
