// The file that says what of a job is profiled: profilerconfig.json of the original.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/regex.h"
#include "base/result.h"
#include "config/settings_reader.h"

namespace smdebug::profile {

// A part of the profile that is recorded only in a window: of steps, or of time.
enum class Feature : uint8_t { kDetailed, kDataloader, kPython, kSmdataparallel, kHorovod };
inline constexpr size_t kFeatures = 5;

// Returns the feature with this name: "detailed", "dataloader", "python", "smdataparallel" or
// "horovod".
std::optional<Feature> FeatureNamed(std::string_view name);

// The steps or the time in which a feature is active.  A window without settings is never active.
// For one thread at a time.
class ProfileWindow {
 public:
  static ProfileWindow OfSteps(std::optional<int64_t> start, std::optional<int64_t> count);
  static ProfileWindow OfTime(std::optional<double> start, std::optional<double> duration);

  // Reports whether the window has this step and time, in seconds since 1970.  A window without a
  // start begins with the first call; without a length it has one step.
  bool Has(int64_t step, double now);
  bool IsNever() const { return kind_ == Kind::kNever; }

 private:
  enum class Kind : uint8_t { kNever, kSteps, kTime };

  Kind kind_ = Kind::kNever;
  std::optional<int64_t> start_step_;
  std::optional<int64_t> steps_;
  std::optional<double> start_time_;
  std::optional<double> duration_;
  std::optional<int64_t> only_step_;  // the step of a window that has a start time and no duration
};

struct ProfilerConfig {
  // False: everything else has no meaning.
  bool is_enabled = false;
  std::string local_path;  // empty: not given
  std::optional<uint64_t> rotate_bytes;
  std::optional<double> rotate_seconds;
  std::optional<int64_t> sample_milliseconds;
  std::array<ProfileWindow, kFeatures> windows;
  std::string metrics_regex = ".*";        // of kDataloader
  std::optional<Regex> metrics;            // nothing: all
  std::string profiler_name = "cprofile";  // of kPython
  std::string cprofile_timer = "total_time";

  // Reads the text of a file.  Keys are found in any case, values keep theirs.  An invalid setting
  // adds a problem, and does not count.  Fails with INVALID_CONFIG if the text is no JSON object.
  static Result<ProfilerConfig> Parse(std::string_view text, config::Problems *problems);
};

}  // namespace smdebug::profile
