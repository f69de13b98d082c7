// How a trial is opened, as its user says it.
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
  // The defaults, those of the environment first.  INVALID_CONFIG names a variable that
  // is no number.
  static Result<TrialOptions> FromEnvironment();

  std::string name;  // empty: the last part of the path
  StepRange range;
  Clock::Duration wait = std::chrono::seconds(600);
  int64_t incomplete_window = 1000;
  Clock::Duration end_delay = std::chrono::seconds(1);
  int64_t missing_file_retries = 100;
  storage::StoreOptions store_options;
  Logger logger;

  // Seams for tests: the store that the path would open, and the time.
  std::shared_ptr<storage::Store> store;
  Clock *clock = &Clock::System();

  // Sets one option from text, by the names in smdebug/trial.h.  INVALID_ARGUMENT for an
  // unknown name (and the nearest known), INVALID_CONFIG for a bad value.
  Status Set(std::string_view option, std::string_view value);

  // INVALID_CONFIG if settings contradict each other.
  Status Check() const;
};

}  // namespace smdebug::analyze
