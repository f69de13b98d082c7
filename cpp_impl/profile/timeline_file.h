// Writes events to the files of a timeline, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "profile/event.h"
#include "profile/timeline_text.h"
#include "storage/growing_file.h"
#include "storage/store.h"

namespace smdebug::profile {

struct TimelineOptions {
  std::string node;
  int64_t base_us = 0;  // since 1970: events count from here
  int64_t process = 0;
  uint64_t rotate_bytes = 0;
  Clock::Duration rotate_time{};
  Clock *clock = nullptr;
};

// What was written, and what was not.
struct TimelineCounts {
  int64_t events = 0;
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t dropped = 0;
};

// For one thread.
//
// Invariants:
//   1. text_ continues the open file; it is empty when a file ends.
//   2. A failure loses nothing: the next call continues where the failed one stopped.
class TimelineFile {
 public:
  TimelineFile(std::shared_ptr<storage::Store> store, TimelineOptions options)
      : store_(std::move(store)),
        options_(std::move(options)),
        text_of_events_(options_.base_us, options_.process) {}

  // Writes the remaining events of the batch.
  Status Write(EventBuffer *batch);
  // Ends the file if it has been open for long enough.
  Status EndIfOld();
  // Ends the file, so that readers see it.
  Status End();
  // Appends the begins that have no end yet.
  void AddOpenEvents();

  bool HasFile() const { return has_begun_; }
  const TimelineCounts &Counts() const { return counts_; }

 private:
  void Begin();
  void AddEvent(const Event &event);
  Status WriteText();
  Status Commit();
  void Forget();

  const std::shared_ptr<storage::Store> store_;
  const TimelineOptions options_;
  TimelineText text_of_events_;
  std::string text_;
  std::unique_ptr<storage::GrowingFile> file_;
  uint64_t file_bytes_ = 0;
  int64_t file_events_ = 0;
  Clock::Duration begun_at_{};
  bool has_begun_ = false;
  bool has_ended_ = false;  // but has no name yet
  TimelineCounts counts_;
};

}  // namespace smdebug::profile
