// How a hook records, as its user says it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "config/collection.h"
#include "config/hook_config.h"
#include "record/write_queue.h"
#include "storage/store.h"

namespace smdebug::record {

struct HookOptions {
  std::string out_dir;
  std::string worker = "worker_0";
  int64_t num_workers = 1;
  bool includes_all_workers = false;
  std::vector<std::string> include_collections;
  std::vector<std::string> include_regexes;  // into the collection "default"
  bool saves_all = false;
  bool is_dry_run = false;
  QueueOptions queue;
  Clock::Duration close_time = std::chrono::seconds(30);
  // Else of the built-in collections only "default" and "all".
  bool has_builtin_collections = true;
  bool keeps_output_numbers = false;  // in the names of saved reductions
  bool exports_tensorboard = false;
  std::string tensorboard_dir;
  std::optional<std::string> checkpoint_dir;  // else the configured one
  config::SaveConfig save_config;
  config::ReductionConfig reduction_config = config::ReductionConfig::Raw();
  std::vector<config::CollectionPtr> collections;
  storage::StoreOptions store_options;
  Logger logger;

  // Seams for tests: the stores that out_dir and TensorBoard's folder would open, and the
  // time.
  std::shared_ptr<storage::Store> store;
  std::shared_ptr<storage::Store> tensorboard_store;
  Clock *clock = &Clock::System();

  // Sets one option from text, by the names in smdebug/hook.h.  INVALID_ARGUMENT for an
  // unknown name (and the nearest known), INVALID_CONFIG for a bad value.
  Status Set(std::string_view name, std::string_view value);

  // The option as Set() would take it; INVALID_ARGUMENT as there.
  Result<std::string> Get(std::string_view name) const;

  // Where TensorBoard's files go; empty: nowhere.
  std::string TensorboardFolder() const;

  // Takes what the service's configuration says (config/hook_config.h): of the file `path`,
  // or if that is empty of the file that SMDEBUG_CONFIG_FILE_PATH names, else of the
  // service's own place.  Its collections are included.  Unknown keys are passed over if
  // SMDEBUG_STRICT_CONFIG is 0.  NOT_FOUND, INVALID_CONFIG; on failure some settings may
  // have been taken.
  Status Load(const std::string &path);

 private:
  void Apply(config::HookConfig config);
};

}  // namespace smdebug::record
