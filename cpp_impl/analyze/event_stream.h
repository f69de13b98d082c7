// The tensors of one event file, one after the other.
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
  // `path` is the file's own, not one inside a trial.
  static Result<EventStream> Open(const std::string &path);

  // The next tensor; nothing at the end.  Events that hold none are passed over.  Fails
  // with CORRUPT_DATA where the file does; what came before is right.
  Result<std::optional<ReadTensor>> Next();

 private:
  EventStream(std::string path, std::shared_ptr<storage::FileReader> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::shared_ptr<storage::FileReader> file_;
  uint64_t offset_ = 0;
};

}  // namespace smdebug::analyze
