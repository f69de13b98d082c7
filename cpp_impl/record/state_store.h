// Step counts kept beside a job's checkpoints, so that a job resumed from one goes on
// counting.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mode.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::record {

// One entry of metadata.json.
struct RunState {
  int64_t training_run = 0;
  std::optional<int64_t> last_saved;  // global steps
  int64_t last_seen = 0;
  std::map<Mode, int64_t> mode_steps;
};

// For one thread.
class StateStore {
 public:
  // For a folder of checkpoints; reads the metadata.json in it if there is one.
  // Fails: CORRUPT_DATA, IO.
  static Result<std::unique_ptr<StateStore>> Open(const std::string &folder);

  // The folder that the checkpoint configuration names, if there is one: the file is
  // that of CHECKPOINT_CONFIG_FILE_PATH, else the service's own place.
  static Result<std::optional<std::string>> ConfiguredFolder();

  // The entry with the largest step seen.
  std::optional<RunState> Latest() const;

  // Appends `state` if checkpoint files have come, gone or changed their size since the
  // last call (or Open()).
  Status Update(const RunState &state, bool durable = false);

 private:
  using Fingerprint = std::vector<std::pair<std::string, uint64_t>>;  // names and sizes

  StateStore(std::string folder, std::shared_ptr<storage::Store> store);
  Fingerprint Look() const;
  std::string ToJson() const;

  const std::string folder_;
  std::shared_ptr<storage::Store> store_;
  Fingerprint seen_;
  std::vector<RunState> states_;  // by last_seen
};

}  // namespace smdebug::record
