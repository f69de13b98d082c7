#include "record/step_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smdebug::record {

// Looks from the end: in most cases the newest step is meant.
StepLanes::Lanes::iterator StepLanes::PlaceOf(const Step &step) {
  auto place = lanes_.end();
  for (auto lane = lanes_.end(); lane != lanes_.begin();) {
    --lane;
    const Step *other = (*lane)->step.get();
    if (other == nullptr) continue;
    if (other == &step) return lane;
    if (other->global_step <= step.global_step) break;
    place = lane;
  }
  return place;
}

void StepLanes::Add(std::shared_ptr<Step> step, Item item) {
  if (!step && item.kind == Item::Kind::kFile) {
    const auto held = std::find_if(lanes_.begin(), lanes_.end(),
                                   [](const auto &lane) { return lane->is_held; });
    if (held != lanes_.end()) return InsertBefore(held, std::move(item));
  }
  item.sequence = last_sequence_ + 1;
  const auto place = step ? PlaceOf(*step) : lanes_.end();
  if (place != lanes_.end() && (*place)->step == step) {
    const bool is_sealed = item.kind == Item::Kind::kSeal;
    (*place)->items.push_back(std::move(item));
    if (is_sealed) (*place)->is_held = false;
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
  const auto place = PlaceOf(*step);
  if (place == lanes_.end()) return Add(nullptr, std::move(item));
  InsertBefore(place, std::move(item));
}

void StepLanes::InsertBefore(Lanes::iterator place, Item item) {
  auto lane = std::make_shared<Lane>();
  lane->begin = item.sequence = (*place)->begin;  // lanes are in the order of these
  lane->items.push_back(std::move(item));
  lanes_.insert(place, std::move(lane));
}

void StepLanes::Hold(const std::shared_ptr<Step> &step) {
  auto place = PlaceOf(*step);
  if (place == lanes_.end()) {
    auto lane = std::make_shared<Lane>();
    lane->step = step;
    lane->begin = last_sequence_ + 1;
    lanes_.push_back(std::move(lane));
    ++last_sequence_;  // small files that go before the lane have its sequence
    place = std::prev(lanes_.end());
  }
  (*place)->is_held = true;
}

size_t StepLanes::Reach() const {
  const bool is_held_up = !lanes_.empty() && lanes_.front()->is_held;
  return is_held_up ? lanes_.size() : std::min(ahead_, lanes_.size());
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
  for (size_t i = 0; i < Reach(); ++i) {
    if (HasWork(i)) return true;
  }
  return false;
}

std::shared_ptr<Lane> StepLanes::Take() {
  for (size_t i = 0; i < Reach(); ++i) {
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
