// The profiles of the runs' jobs: where the time of their steps goes.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "serve/runs.h"

namespace smdebug::cli::serve {

// Any thread.  One profile at a time is evaluated, and each for at most a twentieth of the time: in
// between, requests get what was found last.
class Profiles {
 public:
  // `profile` selects the defaults of the rules' parameters.
  explicit Profiles(std::string profile) : profile_(std::move(profile)) {}

  // Returns JSON: {} if there is no profile inside or beside the run's folder; else "name", "html",
  // "findings" (HTML), "skipped" and, see smd_profile_rules_charts(), "charts".  Fails as
  // report::EvaluateProfile().
  std::string JsonOf(const Run &run);

 private:
  using Clock = std::chrono::steady_clock;

  struct Kept {
    Clock::time_point until;
    std::string json;
  };

  std::string Evaluate(const std::string &path) const;

  const std::string profile_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;  // by id
};

}  // namespace smdebug::cli::serve
