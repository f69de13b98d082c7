// The options of a hook.
#pragma once

#include <cstdint>
#include <functional>
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
#include "format/step_listener.h"
#include "record/write_queue.h"
#include "storage/store.h"
#include "tensor/view.h"

namespace smdebug::record {

// The worker that records if not all do.
inline constexpr std::string_view kOnlyWorker = "worker_0";

struct HookOptions {
  std::string out_dir;
  std::string worker{kOnlyWorker};
  int64_t num_workers = 1;
  bool includes_all_workers = false;
  std::vector<std::string> include_collections;
  std::vector<std::string> include_regexes;  // into the collection "default"
  bool saves_all = false;
  bool is_dry_run = false;
  QueueOptions queue;
  Clock::Duration close_time = std::chrono::seconds(30);
  // If false, the built-in collections are only "default" and "all".
  bool has_builtin_collections = true;
  bool keeps_output_numbers = false;  // in the names of saved reductions
  bool writes_rows = true;            // with `make_listener`
  bool exports_tensorboard = false;
  std::string tensorboard_dir;
  std::optional<std::string> checkpoint_dir;  // else the configured one
  config::SaveConfig save_config;
  config::ReductionConfig reduction_config = config::ReductionConfig::Raw();
  std::vector<config::CollectionPtr> collections;
  storage::StoreOptions store_options;
  Logger logger;
  // Returns what follows the written steps, to write row files by `put`.  Empty: none are written.
  using Put = std::function<Status(const std::string &name, const std::string &text)>;
  std::function<std::shared_ptr<format::StepListener>(Put put)> make_listener;

  // For tests: the size of a tensor that goes into several records, the stores instead of those
  // that out_dir and TensorBoard's folder name, and the time.
  uint64_t too_large = tensor::kMaxPayload;
  std::shared_ptr<storage::Store> store;
  std::shared_ptr<storage::Store> tensorboard_store;
  Clock *clock = &Clock::System();

  // Sets one option from text, by its name in smdebug/hook_options.h.  Fails with
  // INVALID_ARGUMENT (an unknown name; the message has the nearest known one) or INVALID_CONFIG
  // (a bad value).
  Status Set(std::string_view name, std::string_view value);

  // Returns the option as Set() takes it.  Fails with INVALID_ARGUMENT.
  Result<std::string> Get(std::string_view name) const;

  // Returns the folder of TensorBoard's files; "": none are written.
  std::string TensorboardFolder() const;

  // Reads the service's configuration (config/hook_config.h): the file `path`; if that is empty,
  // the file that SMDEBUG_CONFIG_FILE_PATH names; else the service's own file.  Includes its
  // collections.  Ignores unknown keys and bad values with a warning in the log; if
  // SMDEBUG_STRICT_CONFIG is 1, fails with one INVALID_CONFIG that lists them.  Fails with
  // NOT_FOUND or INVALID_CONFIG (not a JSON object); then some settings may be set.
  Status Load(const std::string &path);

  // Logs, at level info, of which collections no step is ever saved; and, as a warning, a worker
  // that records nothing, unless its name is one of several.
  void LogWhatIsNeverSaved() const;
  int64_t RecordingWorkers() const { return includes_all_workers ? num_workers : 1; }
  // Returns true if the worker is one of those that record.
  bool IncludesWorker() const { return includes_all_workers || worker == kOnlyWorker; }

 private:
  void Apply(config::HookConfig config);
};

}  // namespace smdebug::record
