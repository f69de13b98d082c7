// Defines a list that is sorted when it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smdebug::analyze {

// Keeps entries in the order of `Key(entry)`.  Entries nearly always arrive in that order.  Other
// entries are merged when the list is next read, so n of them cost n log n in any order.  If
// several entries have equal keys, only `kKept` stays.  For one thread at a time, including
// readers.
enum class Kept { kFirst, kLast };
template <class Entry, class KeyOf, Kept kKept>
class SortedEntries {
 public:
  void Add(const Entry &entry) {
    const bool is_next = entries_.empty() || KeyOf()(entries_.back()) < KeyOf()(entry);
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
  static bool IsBefore(const Entry &a, const Entry &b) { return KeyOf()(a) < KeyOf()(b); }

  void Merge() const {
    const auto added = entries_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::stable_sort(added, entries_.end(), IsBefore);
    // The entries before the first added one stay: a late entry of a running job costs little.
    const auto first = std::lower_bound(entries_.begin(), added, *added, IsBefore);
    std::inplace_merge(first, added, entries_.end(), IsBefore);
    // Equal keys are adjacent, in the order in which they were added.
    auto count = static_cast<size_t>(first - entries_.begin());
    for (auto at = first; at != entries_.end(); ++at) {
      const Entry entry = *at;
      const bool is_new = count == 0 || IsBefore(entries_[count - 1], entry);
      if (is_new) ++count;
      if (is_new || kKept == Kept::kLast) entries_[count - 1] = entry;
    }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(count), entries_.end());
    sorted_ = entries_.size();
  }

  mutable std::vector<Entry> entries_;
  mutable size_t sorted_ = 0;  // the number of leading entries that are in order
};

}  // namespace smdebug::analyze
