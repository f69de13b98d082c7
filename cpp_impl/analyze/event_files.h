// Reads tensors out of event files.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "format/event_reader.h"
#include "storage/store.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// A record in an event file.
struct RecordPlace {
  std::string file;  // relative to the trial
  uint64_t start = 0;
  uint64_t length = 0;
  std::optional<uint32_t> crc32c;  // checked where it is known
};

// A tensor read from a record.
struct ReadTensor {
  std::string name;
  format::EventContext context;
  tensor::Value value;
};

// Keeps the files used last open.  Safe from any thread.
class EventFiles {
 public:
  explicit EventFiles(std::shared_ptr<storage::Store> store) : store_(std::move(store)) {}

  // The elements land in the value's own memory as they are read.  Fails: NOT_FOUND (no
  // such file), CORRUPT_DATA (path and offset in the message), IO.
  Result<ReadTensor> Read(const RecordPlace &place);

 private:
  struct Opened {
    std::string name;
    std::shared_ptr<storage::FileReader> file;
  };
  Result<std::shared_ptr<storage::FileReader>> Open(const std::string &name);

  const std::shared_ptr<storage::Store> store_;
  Mutex mutex_;
  std::list<Opened> opened_ SMD_GUARDED_BY(mutex_);  // the one used last in front
};

// Reads the record at `place` from an open file.  Nothing if it holds no tensor.  Fails
// as EventFiles::Read(); messages do not name the file.
Result<std::optional<ReadTensor>> ReadRecord(const storage::FileReader &file,
                                             const RecordPlace &place);

}  // namespace smdebug::analyze
