// The options of a profiler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::profile {

struct ProfilerOptions {
  std::string out_dir;
  std::string node;         // empty: DefaultNode()
  std::string system_node;  // empty: DefaultSystemNode()
  uint64_t rotate_bytes = 10'485'760;
  Clock::Duration rotate_time = std::chrono::seconds(60);
  int64_t sample_milliseconds = 0;  // 0: no sampler
  bool samples_gpus = true;
  uint64_t buffer_bytes = uint64_t{16} << 20;
  Clock::Duration update_time{};  // from one look at the configuration file to the next
  Clock::Duration close_time = std::chrono::seconds(30);
  storage::StoreOptions store_options;
  Logger logger;

  // For tests: the store instead of that of out_dir, the time, and the folder of the kernel's
  // facts.
  std::shared_ptr<storage::Store> store;
  Clock *clock = &Clock::System();
  std::string proc = "/proc";

  // Sets one option from text, by its name in smdebug/profiler.h.  Fails with INVALID_ARGUMENT (an
  // unknown name; the message has the nearest known one) or INVALID_CONFIG (a bad value).
  Status Set(std::string_view name, std::string_view value);
  // Returns the option as Set() takes it.  Fails with INVALID_ARGUMENT.
  Result<std::string> Get(std::string_view name) const;
};

}  // namespace smdebug::profile
