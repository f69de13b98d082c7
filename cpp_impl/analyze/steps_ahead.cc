#include "analyze/steps_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace smdebug::analyze {
namespace {

constexpr size_t kMostSteps = 32;
// The most bytes that one thread reads.  As many may be ready.
constexpr uint64_t kMostBytes = uint64_t{32} << 20;

}  // namespace

void StepsAhead::Batch::AddParts(StepReader &reader, uint64_t *bytes) {
  for (FilePart &part : reader.Parts()) {
    if (part.length == 0 || part.length > kMostBytes - std::min(*bytes, kMostBytes)) continue;
    *bytes += part.length;
    parts.push_back(&part);
    buffers.push_back(std::make_shared<AlignedBuffer>(part.length));
    sinks.emplace_back(buffers.back()->Span());
    ranges.push_back({*part.file, part.offset, part.length, &sinks.back()});
  }
}

StepsAhead::Readers StepsAhead::Batch::Finish() {
  thread.Join();
  // What could not be read is read again when the step is visited, which reports the failure.
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i].IsOk()) parts[i]->bytes = std::move(buffers[i]);
  }
  return std::move(readers);
}

Result<std::optional<int64_t>> StepsAhead::After(int64_t step) {
  if (step == INT64_MAX) return std::optional<int64_t>();
  return trial_.NextStep(step + 1);
}

Result<rules::StepPlace> StepsAhead::PlaceOf(int64_t step) {
  SMD_ASSIGN_OR_RETURN(const std::optional<ModeStep> as, trial_.ModeStepOf(step));
  if (!as) return rules::StepPlace{step, Mode::kGlobal, step};
  return rules::StepPlace{step, as->mode, as->step};
}

Result<std::unique_ptr<StepReader>> StepsAhead::Make(int64_t step,
                                                     const rules::Source::Wants &wants) {
  SMD_ASSIGN_OR_RETURN(const rules::StepPlace place, PlaceOf(step));
  return std::make_unique<StepReader>(trial_, place, wants);
}

Status StepsAhead::Begin(int64_t step, const rules::Source::Wants &wants) {
  auto batch = std::make_unique<Batch>();
  uint64_t bytes = 0;
  while (batch->readers.size() < count_ && bytes < kMostBytes) {
    SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, After(step));
    if (!next) break;
    SMD_ASSIGN_OR_RETURN(const StepState state, trial_.StateOf(*next, Mode::kGlobal));
    if (state != StepState::kAvailable) break;
    SMD_ASSIGN_OR_RETURN(std::unique_ptr<StepReader> reader, Make(*next, wants));
    batch->AddParts(*reader, &bytes);
    batch->readers.push_back(std::move(reader));
    step = *next;
  }
  if (batch->readers.empty()) return Status::Ok();
  count_ = std::min(2 * count_, kMostSteps);
  const auto work = [&files = trial_.GetEventFiles(), &to = *batch]() noexcept {
    try {
      to.read = files.ReadRanges(to.ranges);
    } catch (const std::exception &) {
      // Memory is missing.
    }
  };
  // Without a thread, each step is read when it is visited.
  if (!batch->ranges.empty()) static_cast<void>(batch->thread.Start("smdebug-reader", work));
  reading_ = std::move(batch);
  return Status::Ok();
}

Result<std::unique_ptr<StepReader>> StepsAhead::Take(int64_t step,
                                                     const rules::Source::Wants &wants) {
  const bool is_next = expected_ == step;
  if (!is_next) Forget();
  if (ready_.empty() && reading_) ready_ = std::exchange(reading_, nullptr)->Finish();
  // The trial may have learned of a step before those that were read.
  if (!ready_.empty() && ready_.front()->Step() != step) Forget();
  std::unique_ptr<StepReader> reader;
  if (!ready_.empty()) {
    reader = std::move(ready_.front());
    ready_.pop_front();
  } else {
    SMD_ASSIGN_OR_RETURN(reader, Make(step, wants));
  }
  SMD_ASSIGN_OR_RETURN(expected_, After(step));
  // Files of a folder are read faster than another thread hands them over.
  const bool pays = trial_.GetEventFiles().ReadsAtOnce() > 1;
  if (is_next && pays && !reading_) {
    // The visit of the step reports a failure.
    static_cast<void>(Begin(ready_.empty() ? step : ready_.back()->Step(), wants));
  }
  return reader;
}

void StepsAhead::Forget() {
  // In a forked process the thread is missing, and nothing waits for it.
  if (reading_ && !trial_.Mark().IsSameProcess()) static_cast<void>(reading_.release());
  reading_.reset();
  ready_.clear();
  expected_.reset();
  count_ = 1;
}

}  // namespace smdebug::analyze
