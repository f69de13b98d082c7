// Reads timelines: JSON arrays of events in Chrome's trace format, one event per line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/json_cursor.h"
#include "profile/read_system.h"
#include "profile/read_text.h"

namespace smdebug::profile {

// An event with a duration: "X", or a pair of "B" and "E".  Texts live until the next event is
// read.
struct TimelineEvent {
  std::string_view name;
  std::string_view phase;  // name of the row of the timeline
  std::string_view args;   // JSON; empty: none
  double start = 0;        // microseconds since 1970
  double duration = 0;     // microseconds
  std::optional<int64_t> step;
  std::optional<int64_t> pid;  // of the process; that of the phase unless `args` has one
  std::optional<int64_t> tid;
  std::optional<int64_t> phase_pid;
};

// What the files of one node and kind say for the files after them.  For one thread at a time.
class TimelineState {
 public:
  // The most phases, and the most open events, that are kept.
  static constexpr size_t kMost = 100'000;

 private:
  friend class TimelineFileReader;
  struct Open {
    std::string name;
    double start = 0;
  };

  std::map<std::string, std::string, std::less<>> phases_;      // by pid, as it is written
  std::map<std::string, std::vector<Open>, std::less<>> open_;  // by pid and tid
  size_t open_count_ = 0;
  double start_ = 0;
};

// For one thread at a time.
class TimelineFileReader {
 public:
  TimelineFileReader(TextPieces text, TimelineState *state)
      : text_(std::move(text)), state_(*state) {}

  // Reads the next event.  Returns false at the end.  Skips, and notes as damage, what is not an
  // event; an array that is not closed ends with its last whole event.  Fails as the file does.
  Result<bool> Next(TimelineEvent *out);
  const Damage &Damages() const { return damage_; }

 private:
  // One element of the array.
  struct Raw {
    JsonText name;
    std::string_view kind;
    std::string_view pid;
    std::string_view tid;
    std::string_view args;
    // The values in `args`, if these were read.
    bool has_members = false;
    std::string_view step;
    std::string_view process;
    std::string_view thread;
    std::optional<double> time;
    std::optional<double> duration;
    JsonText kind_text;
  };

  enum class Found { kEvent, kNothing, kEnd };

  Result<Found> ReadElement(TimelineEvent *out);
  bool Parse(JsonCursor *cursor);
  bool ParseUsual(JsonCursor *cursor);
  bool ParseArgs(JsonCursor *cursor);
  Result<Found> SkipBroken(bool needs_more);
  Result<bool> FindNext();
  Found Understand(TimelineEvent *out);
  void Describe();
  Found Begin();
  Found End(TimelineEvent *out);
  Found Finish(TimelineEvent *out);
  void ReadArgs(TimelineEvent *out);
  Found Bad(std::string_view what);
  void Use(size_t count);

  TextPieces text_;
  TimelineState &state_;
  Damage damage_;
  Raw raw_;
  TimelineState::Open ended_;
  size_t line_ = 1;
  bool has_begun_ = false;
};

}  // namespace smdebug::profile
