// The text of a timeline file, as the original's readers depend on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "profile/event.h"

namespace smdebug::profile {

// Not safe for several threads.
//
// Invariants:
//   1. A phase has one number over all files, from 0 in the order of their first events.
//   2. In each file, two lines name the phase before its first event.
//   3. The text of a file is "[", lines with "," between them, "\n]".
class TimelineText {
 public:
  // Times are relative to `base_us` (since 1970).  `process` goes into the arguments of events.
  TimelineText(int64_t base_us, int64_t process) : base_us_(base_us), process_(process) {}

  // Returns the text with which a file begins.
  std::string Begin();
  // Appends the lines of an event to `out`.  A begin appends nothing before its end.  Returns false
  // if the event is dropped: an end without a begin, or one of too many phases.
  bool Add(const Event &event, std::string *out);
  // Appends the begins that have no end, and returns how many.
  int64_t AddOpen(std::string *out);
  bool HasOpen() const { return !open_.empty(); }
  static std::string_view End() { return "\n]"; }

  // Returns when the last event of the file ended, in microseconds since 1970.
  int64_t LastEnd() const { return last_end_us_; }

 private:
  struct Begun {
    std::string name;
    std::string args;
    int64_t step;
    int64_t begin_us;
  };
  // A begin's phase, by its number, and its thread.
  using Lane = std::pair<int, int32_t>;

  // Returns the phase's number, or -1 if there are too many.
  int NumberOf(std::string_view phase);
  void NamePhase(int number, std::string *out);
  void AppendLine(const Event &event, int number, std::string_view type, std::string *out);
  void AppendArgs(const Event &event, std::string *out) const;

  const int64_t base_us_;
  const int64_t process_;
  int64_t last_end_us_ = 0;
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::string> phases_;
  std::unordered_set<int> named_;  // in the current file
  std::map<Lane, std::vector<Begun>> open_;
};

}  // namespace smdebug::profile
