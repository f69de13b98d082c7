// The user's settings for opening a trial.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyze/index_scanner.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::analyze {

struct TrialOptions {
  // Returns the defaults; the environment's values take precedence.  Fails with INVALID_CONFIG if a
  // variable is not a number, and names it.
  static Result<TrialOptions> FromEnvironment();

  std::string name;  // empty: the last part of the path
  StepRange range;
  Clock::Duration wait = std::chrono::seconds(600);
  int64_t incomplete_window = 1000;
  Clock::Duration end_delay = std::chrono::seconds(1);
  int64_t missing_file_retries = 100;
  bool uses_index_numbers = true;
  storage::StoreOptions store_options;
  Logger logger;

  // Substitutes for tests: the store that the path would open, and the clock.
  std::shared_ptr<storage::Store> store;
  Clock *clock = &Clock::System();

  // Sets one option from text, by the names in smdebug/trial.h.  Fails with INVALID_ARGUMENT for an
  // unknown name (and suggests the nearest known one), INVALID_CONFIG for a bad value.
  Status Set(std::string_view option, std::string_view value);

  // Fails with INVALID_CONFIG if settings contradict each other.
  Status Check() const;
};

}  // namespace smdebug::analyze
