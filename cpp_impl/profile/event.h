// An event of a timeline, and the buffer in which events wait to be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::profile {

enum class EventKind : uint8_t {
  kComplete,  // has a duration
  kBegin,     // lasts until the next kEnd of its thread and phase
  kEnd,
  kInstant,
};

struct Event {
  EventKind kind = EventKind::kComplete;
  std::string_view name;
  std::string_view phase;
  int64_t step = -1;     // negative: none
  int64_t begin_us = 0;  // since 1970
  int64_t duration_us = 0;
  int32_t thread = 0;
  std::string_view args;  // the text of a JSON object, or empty
};

// Holds copies of events in the order of their arrival, packed.  Not safe for several threads.
class EventBuffer {
 public:
  // Returns how many bytes the event takes.
  static size_t SizeOf(const Event &event);

  void Add(const Event &event);
  // Returns the next event, which is valid until the next Add() or Clear(), or nothing at the end.
  std::optional<Event> Next();

  bool IsAtEnd() const { return at_ == bytes_.size(); }
  size_t Size() const { return bytes_.size(); }
  void Clear();
  void Swap(EventBuffer *other);

 private:
  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace smdebug::profile
