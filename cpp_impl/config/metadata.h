// What a job records about itself, such as its hyper-parameters and where it ran.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"

namespace smdebug::config {

using Metadata = std::map<std::string, std::string, std::less<>>;  // texts by key

// Why the job failed; the trial's end marker says it too.
inline constexpr std::string_view kFailureKey = "run.failure";

void WriteMetadata(const Metadata &metadata, JsonWriter &json);
// Ignores values that are no texts.  Fails with INVALID_CONFIG if `json` is no object.
Result<Metadata> ReadMetadata(const JsonValue &json);

// The metadata of a hook.  Safe from any thread.
class MetadataSet {
 public:
  static constexpr size_t kMostKeys = 1000;
  static constexpr size_t kLongestKey = 256;                 // bytes
  static constexpr size_t kLongestValue = size_t{64} << 10;  // bytes

  // Replaces an earlier value.  Fails with INVALID_ARGUMENT if a limit is exceeded, or if a text is
  // not UTF-8 or the key is empty or has control characters.
  Status Set(std::string_view key, std::string_view value);
  // Returns "" if there is no such key.
  std::string Find(std::string_view key) const;
  Metadata List() const;
  // Grows with each change.
  uint64_t Version() const;

 private:
  mutable Mutex mutex_;
  Metadata metadata_ SMD_GUARDED_BY(mutex_);
  uint64_t version_ SMD_GUARDED_BY(mutex_) = 0;
};

}  // namespace smdebug::config
