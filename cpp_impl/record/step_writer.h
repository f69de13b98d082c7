// Writes one step's files directly, without a hook.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mode.h"
#include "base/result.h"
#include "record/step_file.h"
#include "storage/store.h"
#include "tensor/view.h"

namespace smdebug::record {

// Thread safety: one thread at a time.
class StepWriter {
 public:
  // Fails with INVALID_ARGUMENT: a step below 0 or above kMaxStep, a worker's name that is no file
  // name.
  static Result<std::unique_ptr<StepWriter>> Open(const std::shared_ptr<storage::Store> &store,
                                                  int64_t step, std::string_view worker);

  // Returns the event file's path.
  const std::string &Path() const { return path_; }

  // `mode_step` -1 is the global step, `wall_time` 0 is now.  The first call of either function
  // sets the file's mode and mode step.  After a failure to write, the files are abandoned and
  // every later call reports that failure.
  Status AddTensor(std::string_view name, const tensor::View &view, Mode mode, int64_t mode_step,
                   double wall_time);
  Status AddShape(format::SavedShape shape, Mode mode, int64_t mode_step);

  // A second call does nothing.
  Status Close();

 private:
  StepWriter(const std::shared_ptr<storage::Store> &store, int64_t step, std::string worker);
  Status CheckOpen() const;
  Result<int64_t> Note(Mode mode, int64_t mode_step);

  const int64_t step_;
  StepFile file_;
  const std::string path_;
  std::optional<std::pair<Mode, int64_t>> as_;
  bool is_closed_ = false;
  Status failure_;
};

}  // namespace smdebug::record
