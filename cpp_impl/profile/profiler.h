// Records where the time of a job goes: a timeline of events, and samples of the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/closing.h"
#include "base/fork.h"
#include "base/result.h"
#include "profile/profiler_options.h"
#include "profile/sampler.h"
#include "profile/timeline_writer.h"

namespace smdebug::profile {

// Thread safety: any thread.
class Profiler {
 public:
  // Completes what killed processes left in the folder.  If options ask for samples, starts the
  // sampler, unless another process of this machine samples into the folder.  Fails as
  // smd_profiler_open().
  static Result<std::shared_ptr<Profiler>> Open(const ProfilerOptions &options);
  // Closes the profiler without end marks.
  ~Profiler();

  // Returns microseconds since 1970.  Never decreases, also if the machine's clock is set back.
  int64_t Now() const;

  // Records an event, which `event` describes except for its thread.  Fails with INVALID_ARGUMENT,
  // and as TimelineWriter::Add().
  Status Add(Event event);

  // Stops the samples, or continues them.
  void SetPaused(bool is_paused);

  // Ends the open files, so that readers see everything so far.
  Status Flush(Deadline deadline);
  // Writes everything, and the end marks.  Later calls do nothing.
  Status Close();

  int64_t Count(std::string_view name) const;
  const ProcessMark &Mark() const { return mark_; }

 private:
  Profiler(std::shared_ptr<storage::Store> store, const ProfilerOptions &options);
  Status StartSampler(const ProfilerOptions &options);
  Status End();

  const ProcessMark mark_;
  const std::shared_ptr<storage::Store> store_;
  Clock &clock_;
  const Clock::Duration close_time_;
  const int64_t base_us_;
  const Clock::Duration base_;
  const std::shared_ptr<TimelineWriter> timeline_;
  std::unique_ptr<storage::Claim> sampler_claim_;
  std::shared_ptr<Sampler> sampler_;  // may be NULL
  Closing closing_;
};

}  // namespace smdebug::profile
