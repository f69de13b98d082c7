#include "format/paths.h"

#include <algorithm>
#include <charconv>

#include "base/step.h"
#include "base/strings.h"

namespace smdebug::format {
namespace {

constexpr int kStepDigits = 12;
constexpr int kBucketDigits = 9;
constexpr size_t kMaxWorkerName = 200;
constexpr std::string_view kCollectionsEnding = "_collections.json";
constexpr std::string_view kRowsEnding = ".rows";

bool IsControl(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte < 0x20 || byte == 0x7F;
}

bool HasControl(std::string_view text) { return std::ranges::any_of(text, IsControl); }

std::string StepPrefix(int64_t step) { return ZeroPadded(step, kStepDigits); }

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// Returns the name without the extension of a step file, or nothing.
std::optional<std::string_view> WithoutEnding(std::string_view name) {
  for (const std::string_view ending : {".json", ".tfevents", ".csv"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return {};
}

// Returns true if callers can request the worker in a file name.
bool IsWorkerInFile(std::string_view worker) {
  return !worker.empty() && !HasControl(worker) && IsUtf8(worker);
}

std::string WorkerFromFile(std::string_view worker) {
  std::string decoded(worker);
  if (!worker.starts_with('_')) return decoded;
  std::ranges::replace(decoded, '_', '/');
  std::ranges::replace(decoded, '-', ':');
  return decoded;
}

std::string Bucket(std::string_view folder, int64_t step) {
  return StrCat(folder, "/", ZeroPadded(step / kStepsPerBucket, kBucketDigits));
}

// Parses the name of a step's file without its extension.
std::optional<StepFile> ParseStem(std::string_view stem) {
  const char *const end = stem.data() + stem.size();
  StepFile file{};
  // Digits only: from_chars would also accept a sign.
  if (stem.empty() || stem.front() < '0' || stem.front() > '9') return {};
  const auto [separator, error] = std::from_chars(stem.data(), end, file.step);
  if (error != std::errc{} || separator == end || *separator != '_') return {};
  const std::string_view worker(separator + 1, static_cast<size_t>(end - separator - 1));
  if (!IsWorkerInFile(worker) || file.step > kMaxStep) return {};
  file.worker = WorkerFromFile(worker);
  return file;
}

}  // namespace

std::string EventFileName(int64_t step, std::string_view worker) {
  const std::string prefix = StepPrefix(step);
  return StrCat("events/", prefix, "/", prefix, "_", WorkerToFile(worker), ".tfevents");
}

std::string OtherEventFileName(int64_t step, std::string_view worker) {
  const std::string prefix = StepPrefix(step);
  return StrCat("events/", prefix, "/again/", prefix, "_", WorkerToFile(worker), ".tfevents");
}

std::string IndexFilePrefix(int64_t step) {
  return StrCat(IndexBucket(step), "/", StepPrefix(step));
}

std::string IndexFileName(int64_t step, std::string_view worker) {
  return StrCat(IndexFilePrefix(step), "_", WorkerToFile(worker), ".json");
}

std::string IndexBucket(int64_t step) { return Bucket(kIndexFolder, step); }

std::string RowFileName(int64_t step, std::string_view worker) {
  return StrCat(RowBucket(step), "/", StepPrefix(step), "_", WorkerToFile(worker), kRowsEnding);
}

std::string RowBucket(int64_t step) { return Bucket(kRowsFolder, step); }

std::string CollectionsFileName(std::string_view worker) {
  return StrCat(kCollectionsFolder, "/", WorkerToFile(worker), kCollectionsEnding);
}

std::optional<StepFile> ParseStepFileName(std::string_view name) {
  const std::optional<std::string_view> stem = WithoutEnding(LastPart(name));
  return stem ? ParseStem(*stem) : std::nullopt;
}

std::optional<StepFile> ParseRowFileName(std::string_view name) {
  const std::string_view last = LastPart(name);
  if (!last.ends_with(kRowsEnding)) return {};
  return ParseStem(last.substr(0, last.size() - kRowsEnding.size()));
}

bool HasStepBeyondLast(std::string_view name) {
  const std::optional<std::string_view> stem = WithoutEnding(LastPart(name));
  if (!stem) return false;
  const std::string_view digits = stem->substr(0, stem->find_first_not_of("0123456789"));
  const std::string_view rest = stem->substr(digits.size());
  if (digits.empty() || rest.size() < 2 || rest.front() != '_' || HasControl(rest)) return false;
  int64_t step = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return parsed.ec != std::errc{} || step > kMaxStep;
}

std::optional<std::string> ParseCollectionsFileName(std::string_view name) {
  const std::string_view last = LastPart(name);
  if (!last.ends_with(kCollectionsEnding)) return {};
  const std::string_view worker = last.substr(0, last.size() - kCollectionsEnding.size());
  if (!IsWorkerInFile(worker)) return {};
  return WorkerFromFile(worker);
}

std::string WorkerToFile(std::string_view worker) {
  std::string encoded(worker);
  if (!worker.starts_with('/')) return encoded;
  std::ranges::replace(encoded, '/', '_');
  std::ranges::replace(encoded, ':', '-');
  return encoded;
}

Status CheckWorkerName(std::string_view worker) {
  const std::string file_form = WorkerToFile(worker);
  if (file_form.empty()) return InvalidArgument("the worker's name is empty");
  if (file_form.size() > kMaxWorkerName) {
    return InvalidArgument(StrCat("the worker's name has ", file_form.size(),
                                  " bytes, more than the ", kMaxWorkerName, " allowed"));
  }
  if (HasControl(file_form)) {
    return InvalidArgument("the worker's name holds control characters");
  }
  if (!IsUtf8(file_form)) return InvalidArgument("the worker's name is not UTF-8");
  if (file_form.find('/') != std::string::npos) {
    return InvalidArgument(StrCat("the worker's name '", worker,
                                  "' holds \"/\" and is no device name, which begins with it"));
  }
  return Status::Ok();
}

bool IsInsideTrial(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t end = name.find('/');
    const std::string_view part = name.substr(0, end);
    // An absolute name has an empty first part.
    if (part.empty() || part == "." || part == "..") return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

}  // namespace smdebug::format
