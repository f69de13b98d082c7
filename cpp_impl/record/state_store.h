// Stores step numbers next to a job's checkpoints, so that a resumed job continues counting.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
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

// Thread safety: one thread at a time.
class StateStore {
 public:
  // Opens a folder of checkpoints and reads its metadata.json, if there is one.  Fails with
  // CORRUPT_DATA or IO.
  static Result<std::unique_ptr<StateStore>> Open(const std::string &folder);

  // Returns the folder that the checkpoint configuration names, if any.  The configuration is the
  // file that CHECKPOINT_CONFIG_FILE_PATH names, else the service's own file.
  static Result<std::optional<std::string>> ConfiguredFolder();

  // Returns the entry with the largest step seen.
  std::optional<RunState> Latest() const;

  // Appends `state` if checkpoint files were added, removed or written since the last call or
  // Open().
  Status Update(const RunState &state, bool durable = false);

 private:
  struct File {
    std::string name;
    uint64_t size;
    std::filesystem::file_time_type written;  // one name may be written again and again

    auto operator<=>(const File &) const = default;
  };
  using Fingerprint = std::vector<File>;

  StateStore(std::string folder, std::shared_ptr<storage::Store> store);
  Fingerprint Look() const;
  std::string ToJson() const;

  const std::string folder_;
  std::shared_ptr<storage::Store> store_;
  Fingerprint seen_;
  std::vector<RunState> states_;  // by last_seen
};

}  // namespace smdebug::record
