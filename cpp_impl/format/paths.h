// Names of the files of a trial, relative to its folder, "/" between parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug::format {

inline constexpr std::string_view kEndMarker = "training_job_end.ts";
inline constexpr std::string_view kClaimFile = "claim.smd";
inline constexpr std::string_view kIndexFolder = "index";
inline constexpr std::string_view kCollectionsFolder = "collections/000000000";

// "events/000000000012/000000000012_worker_0.tfevents"
std::string EventFileName(int64_t step, std::string_view worker);
// "events/000000000012/again/000000000012_worker_0.tfevents": for a step recorded once more
std::string OtherEventFileName(int64_t step, std::string_view worker);
// "index/000000000/000000000012_worker_0.json"
std::string IndexFileName(int64_t step, std::string_view worker);
// "index/000000000/000000000012": what the names of a step's index files begin with
std::string IndexFilePrefix(int64_t step);
// "index/000000000": the folder of a step's index file
std::string IndexBucket(int64_t step);
// "collections/000000000/worker_0_collections.json"
std::string CollectionsFileName(std::string_view worker);

struct StepFile {
  int64_t step;
  std::string worker;  // decoded
};

// What the name of an index or event file stands for, or nothing if it is no such
// name (temporary files among them).  Folders in front are not looked at.  A worker
// whose name begins with "_" is a device name in its file form: decoded "_" -> "/",
// "-" -> ":".
std::optional<StepFile> ParseStepFileName(std::string_view name);

// The worker of a collections file's name, decoded, or nothing.
std::optional<std::string> ParseCollectionsFileName(std::string_view name);

// A worker's name as it stands in file names: a device name ("/job:worker/...") in
// its file form, others as they are.
std::string WorkerToFile(std::string_view worker);

// INVALID_ARGUMENT unless the worker's name, in its file form, is fit to be part of a
// file name: not empty, at most 200 bytes, no "/", no NUL, no control characters.
Status CheckWorkerName(std::string_view worker);

// Whether a name read from a file stays inside the trial: relative, no empty, "." or
// ".." part, no NUL.
bool IsInsideTrial(std::string_view name);

}  // namespace smdebug::format
