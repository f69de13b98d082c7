#include "analyze/trial_options.h"

#include <array>

#include "base/environment.h"
#include "base/strings.h"

namespace smdebug::analyze {
namespace {

Result<int64_t> Count(std::string_view option, std::string_view value) {
  const std::optional<int64_t> parsed = ParseInt(value);
  if (parsed && *parsed >= 0) return *parsed;
  return InvalidConfig(StrCat(option, " is '", value, "'; it must be a whole number >= 0"));
}

Result<bool> Switch(std::string_view option, std::string_view value) {
  if (const std::optional<bool> parsed = ParseBool(value)) return *parsed;
  return InvalidConfig(StrCat(option, " is '", value, "'; it must be true or false"));
}

Result<Clock::Duration> Seconds(std::string_view option, std::string_view value) {
  const std::optional<double> parsed = ParseDouble(value);
  constexpr double kYear = 365.0 * 86400;
  if (!parsed || !(*parsed >= 0)) {
    return InvalidConfig(StrCat(option, " is '", value, "'; it must be a number of seconds >= 0"));
  }
  return std::chrono::duration_cast<Clock::Duration>(
      std::chrono::duration<double>(std::min(*parsed, kYear)));
}

}  // namespace

Result<TrialOptions> TrialOptions::FromEnvironment() {
  TrialOptions options;
  SMD_ASSIGN_OR_RETURN(const int64_t wait, EnvironmentNumber("SMDEBUG_TRIAL_WAIT_SECONDS", 600));
  options.wait = std::chrono::seconds(std::min(wait, int64_t{365} * 86400));
  SMD_ASSIGN_OR_RETURN(options.incomplete_window,
                       EnvironmentNumber("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", 1000));
  SMD_ASSIGN_OR_RETURN(const int64_t delay,
                       EnvironmentNumber("SMDEBUG_TRAINING_END_DELAY_REFRESH", 1));
  options.end_delay = std::chrono::seconds(std::min<int64_t>(delay, 86400));
  SMD_ASSIGN_OR_RETURN(options.missing_file_retries,
                       EnvironmentNumber("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", 100));
  return options;
}

Status TrialOptions::Set(std::string_view option, std::string_view value) {
  if (storage::StoreOptions::IsName(option)) return store_options.Set(option, value);
  if (option == "name") {
    name = value;
  } else if (option == "first_step") {
    SMD_ASSIGN_OR_RETURN(range.first, Count(option, value));
  } else if (option == "end_step") {
    SMD_ASSIGN_OR_RETURN(range.end, Count(option, value));
  } else if (option == "wait_seconds") {
    SMD_ASSIGN_OR_RETURN(wait, Seconds(option, value));
  } else if (option == "incomplete_window") {
    SMD_ASSIGN_OR_RETURN(incomplete_window, Count(option, value));
  } else if (option == "end_delay_seconds") {
    SMD_ASSIGN_OR_RETURN(end_delay, Seconds(option, value));
  } else if (option == "missing_file_retries") {
    SMD_ASSIGN_OR_RETURN(missing_file_retries, Count(option, value));
  } else if (option == "index_numbers") {
    SMD_ASSIGN_OR_RETURN(uses_index_numbers, Switch(option, value));
  } else {
    return InvalidArgument(StrCat(
        "a trial has no option '", option.substr(0, 64), "'",
        DidYouMean(option, {"name", "first_step", "end_step", "wait_seconds", "incomplete_window",
                            "end_delay_seconds", "missing_file_retries", "index_numbers"})));
  }
  return Status::Ok();
}

Status TrialOptions::Check() const {
  if (!range.end || *range.end > range.first) return Status::Ok();
  return InvalidConfig(
      StrCat("end_step is ", *range.end, "; it must be after first_step, ", range.first));
}

}  // namespace smdebug::analyze
