// Defines a list that is sorted when it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smdebug::analyze {

// Keeps entries in the order of `KeyOf()(entry)`.  Entries nearly always arrive in that order.
// Other entries are merged when the list is next read, so n of them cost n log n in any order.  If
// several entries have equal keys, only `kKept` stays.  For one thread at a time, including
// readers.
enum class Kept { kFirst, kLast };
template <class Entry, class KeyOf, Kept kKept>
class SortedEntries {
 public:
  explicit SortedEntries(KeyOf key_of = KeyOf()) : key_of_(key_of) {}

  void Add(const Entry &entry) {
    const bool is_next = entries_.empty() || key_of_(entries_.back()) < key_of_(entry);
    if (is_next && sorted_ == entries_.size()) ++sorted_;
    entries_.push_back(entry);
  }

  bool IsEmpty() const { return entries_.empty(); }

  // Returns the entries, sorted, each key once.
  const std::vector<Entry> &All() const {
    if (sorted_ < entries_.size()) Merge();
    return entries_;
  }

 private:
  void Merge() const {
    const auto is_before = [this](const Entry &a, const Entry &b) {
      return key_of_(a) < key_of_(b);
    };
    const auto added = entries_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::stable_sort(added, entries_.end(), is_before);
    // The entries before the first added one stay: a late entry of a running job costs little.
    const auto first = std::lower_bound(entries_.begin(), added, *added, is_before);
    std::inplace_merge(first, added, entries_.end(), is_before);
    // Equal keys are adjacent, in the order in which they were added.
    auto count = static_cast<size_t>(first - entries_.begin());
    for (auto at = first; at != entries_.end(); ++at) {
      const Entry entry = *at;
      const bool is_new = count == 0 || is_before(entries_[count - 1], entry);
      if (is_new) ++count;
      if (is_new || kKept == Kept::kLast) entries_[count - 1] = entry;
    }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(count), entries_.end());
    sorted_ = entries_.size();
  }

  [[no_unique_address]] KeyOf key_of_;
  mutable std::vector<Entry> entries_;
  mutable size_t sorted_ = 0;  // the number of leading entries that are in order
};

}  // namespace smdebug::analyze
