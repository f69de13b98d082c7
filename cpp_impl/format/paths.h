// Builds and parses the names of a trial's files, relative to its folder, with "/" between parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::format {

// Empty, or why the job failed.
inline constexpr std::string_view kEndMarker = "training_job_end.ts";
inline constexpr std::string_view kClaimFile = "claim.smd";
inline constexpr std::string_view kIndexFolder = "index";
inline constexpr std::string_view kRowsFolder = "rows";
// An index folder holds the files of this many steps.
inline constexpr int64_t kStepsPerBucket = 1000;
inline constexpr std::string_view kCollectionsFolder = "collections/000000000";

// Returns, for example, "events/000000000012/000000000012_worker_0.tfevents".
std::string EventFileName(int64_t step, std::string_view worker);
// Returns the name for a step that is recorded again, for example
// "events/000000000012/again/000000000012_worker_0.tfevents".
std::string OtherEventFileName(int64_t step, std::string_view worker);
// Returns, for example, "index/000000000/000000000012_worker_0.json".
std::string IndexFileName(int64_t step, std::string_view worker);
// Returns the prefix of the names of a step's index files, for example
// "index/000000000/000000000012".
std::string IndexFilePrefix(int64_t step);
// Returns the folder of a step's index file, for example "index/000000000".
std::string IndexBucket(int64_t step);
// Return the name of the row file that begins with a step, for example
// "rows/000000000/000000000012_worker_0.rows", and its folder.
std::string RowFileName(int64_t step, std::string_view worker);
std::string RowBucket(int64_t step);
// Returns, for example, "collections/000000000/worker_0_collections.json".
std::string CollectionsFileName(std::string_view worker);

struct StepFile {
  int64_t step;
  std::string worker;  // decoded
};

// Parses the name of an index or event file.  Returns nothing for other names, temporary files
// among them.  Ignores leading folders.  No step is larger than kMaxStep.  A worker whose name
// begins with "_" is a device name in its file form: it is decoded "_" -> "/", "-" -> ":".
std::optional<StepFile> ParseStepFileName(std::string_view name);

// The same, for the name of a row file.
std::optional<StepFile> ParseRowFileName(std::string_view name);

// Returns true if the name is that of an index or event file, except that its step is larger than
// kMaxStep.
bool HasStepBeyondLast(std::string_view name);

// Returns the decoded worker in the name of a collections file, or nothing.
std::optional<std::string> ParseCollectionsFileName(std::string_view name);

// Returns a worker's name in its file form.  Only device names ("/job:worker/...") change.
std::string WorkerToFile(std::string_view worker);

// Fails with INVALID_ARGUMENT if the worker's name, in its file form, cannot be part of a file
// name.  It must have 1 to 200 bytes, no "/", no NUL and no control characters.
Status CheckWorkerName(std::string_view worker);

// Returns true if a name read from a file stays inside the trial: it is relative, and has no empty,
// "." or ".." part and no NUL.
bool IsInsideTrial(std::string_view name);

}  // namespace smdebug::format
