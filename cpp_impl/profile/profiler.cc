#include "profile/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/strings.h"
#include "base/system_calls.h"
#include "profile/file_names.h"
#include "profile/json_text.h"
#include "profile/leftovers.h"

namespace smdebug::profile {
namespace {

constexpr size_t kLongestName = 4096;
constexpr size_t kLongestArgs = size_t{64} << 10;

// What an event runs through is marked as hot here and in the files it calls, to lie side by side:
// after a training's operations none of its code is in the caches, and each page costs.

// Returns the kernel's number of this thread.  Asks once for each thread.
[[gnu::hot]] int32_t ThreadNumber() {
  struct Known {
    ProcessMark mark;
    int32_t number = 0;
  };
  thread_local Known known;
  if (known.number == 0 || !known.mark.IsSameProcess())
    known = {ProcessMark(), system_calls::ThreadNumber()};
  return known.number;
}

[[gnu::hot]] Status CheckText(std::string_view text, std::string_view what) {
  if (text.empty()) return InvalidArgument(StrCat("the event's ", what, " is empty"));
  if (text.size() > kLongestName) {
    return InvalidArgument(StrCat("the event's ", what, " '", Excerpt(text), "' has ", text.size(),
                                  " bytes; the most is ", kLongestName));
  }
  return Status::Ok();
}

Status CheckTimes(const Event &event) {
  if (event.begin_us >= 0 && event.begin_us <= kLastTime && event.duration_us >= 0 &&
      event.duration_us <= kLastTime - event.begin_us) {
    return Status::Ok();
  }
  return InvalidArgument(StrCat("the event '", Excerpt(event.name), "' begins at ", event.begin_us,
                                " and takes ", event.duration_us,
                                "; give microseconds since 1970, and a duration of 0 or more"));
}

TimelineOptions TimelineOptionsOf(const ProfilerOptions &options, int64_t base_us) {
  return {.node = options.node.empty() ? DefaultNode() : NodeInNames(options.node),
          .base_us = base_us,
          .process = getpid(),
          .rotate_bytes = options.rotate_bytes,
          .rotate_time = options.rotate_time,
          .clock = options.clock};
}

}  // namespace

Profiler::Profiler(std::shared_ptr<storage::Store> store, const ProfilerOptions &options)
    : store_(std::move(store)),
      clock_(*options.clock),
      close_time_(options.close_time),
      base_us_(static_cast<int64_t>(clock_.WallSeconds() * 1e6)),
      base_(clock_.Monotonic()),
      timeline_(std::make_shared<TimelineWriter>(store_, TimelineOptionsOf(options, base_us_),
                                                 options.buffer_bytes, options.logger)) {}

Result<std::shared_ptr<Profiler>> Profiler::Open(const ProfilerOptions &options) {
  std::shared_ptr<storage::Store> store = options.store;
  if (!store) {
    if (options.out_dir.empty()) return InvalidArgument("the profiler's out_dir is not set");
    SMD_ASSIGN_OR_RETURN(const storage::StoreOptions all, options.store_options.WithEnvironment());
    SMD_ASSIGN_OR_RETURN(store, storage::OpenStore(options.out_dir, all, options.logger));
  }
  CompleteLeftovers(*store, options.logger);
  const std::shared_ptr<Profiler> profiler(new Profiler(std::move(store), options));
  if (options.sample_milliseconds > 0) SMD_RETURN_IF_ERROR(profiler->StartSampler(options));
  return profiler;
}

Status Profiler::StartSampler(const ProfilerOptions &options) {
  SamplerOptions sampling;
  sampling.node = options.system_node.empty() ? DefaultSystemNode() : options.system_node;
  sampling.interval = std::chrono::milliseconds(options.sample_milliseconds);
  sampling.samples_gpus = options.samples_gpus;
  sampling.proc = options.proc;
  sampling.clock = options.clock;
  SMD_ASSIGN_OR_RETURN(sampler_claim_, store_->Acquire(StrCat("system/", sampling.node, ".lock")));
  if (!sampler_claim_) {
    options.logger.Info(StrCat("another process samples this machine into ", store_->Location()));
    return Status::Ok();
  }
  const auto sampler = std::make_shared<Sampler>(store_, std::move(sampling), options.logger);
  SMD_RETURN_IF_ERROR(sampler->Start());
  sampler_ = sampler;
  return Status::Ok();
}

[[gnu::hot]] int64_t Profiler::Now() const {
  const Clock::Duration passed = clock_.Monotonic() - base_;
  return base_us_ + std::chrono::duration_cast<std::chrono::microseconds>(passed).count();
}

[[gnu::hot]] Status Profiler::Add(Event event) {
  SMD_RETURN_IF_ERROR(CheckText(event.name, "name"));
  SMD_RETURN_IF_ERROR(CheckText(event.phase, "phase"));
  SMD_RETURN_IF_ERROR(CheckTimes(event));
  if (!event.args.empty() && (event.args.size() > kLongestArgs || !IsJsonObject(event.args))) {
    return InvalidArgument(StrCat("the arguments of the event '", Excerpt(event.name), "', '",
                                  Excerpt(event.args),
                                  "', are no JSON object of at most 65536 bytes and 16 levels"));
  }
  event.thread = ThreadNumber();
  return timeline_->Add(event);
}

void Profiler::SetPaused(bool is_paused) {
  if (sampler_) sampler_->SetPaused(is_paused);
}

Status Profiler::Flush(Deadline deadline) {
  Status status = timeline_->Flush(deadline);
  if (sampler_) KeepFirst(&status, sampler_->Flush(deadline));
  return status;
}

Status Profiler::End() {
  const Deadline deadline = Deadline::After(clock_, close_time_);
  Status status = timeline_->Close(deadline);
  if (sampler_) KeepFirst(&status, sampler_->Close(deadline));
  return status;
}

Status Profiler::Close() {
  const Closing::Turn turn(closing_);
  if (!turn.IsFirst()) return Status::Ok();
  SMD_RETURN_IF_ERROR(End());
  Status status = store_->WriteText(kTimelineEndMark, "", false);
  if (sampler_) KeepFirst(&status, store_->WriteText(kSystemEndMark, "", false));
  return status;
}

Profiler::~Profiler() {
  if (!closing_.HasBegun()) (void)End();  // a failure was logged
}

int64_t Profiler::Count(std::string_view name) const {
  if (name == "samples") return sampler_ ? sampler_->Samples() : 0;
  return timeline_->Count(name);
}

}  // namespace smdebug::profile
