// Reads the tensors of one event file in sequence.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analyze/event_files.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::analyze {

// For one thread.
class EventStream {
 public:
  // `path` is the path of the file itself, not a name inside a trial.
  static Result<EventStream> Open(const std::string &path);

  // Returns the next tensor, or nothing at the end.  Skips events that hold no tensor.  Fails with
  // CORRUPT_DATA at the first damage; the tensors before it are valid.
  Result<std::optional<ReadTensor>> Next();

 private:
  EventStream(std::string path, std::shared_ptr<storage::FileReader> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::shared_ptr<storage::FileReader> file_;
  uint64_t offset_ = 0;
};

}  // namespace smdebug::analyze
