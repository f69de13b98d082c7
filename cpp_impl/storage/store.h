// Where trials lie: the one seam to the world.  Nothing above this folder knows
// whether that is a folder, a bucket, or memory in a test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "storage/store_options.h"

namespace smdebug::storage {

// A file opened for reading; safe from any thread.
class FileReader {
 public:
  virtual ~FileReader() = default;

  // May ask a server the first time.
  virtual Result<uint64_t> Size() const = 0;

  // Gives `sink` the `length` bytes from `offset` on.  Fails with CORRUPT_DATA if the
  // file ends before, or the sink has no room; NOT_FOUND where Open() could not know.
  virtual Status Read(uint64_t offset, uint64_t length, ByteSink &sink) const = 0;

  // Fills `out` from `offset` on.  Fails as Read().
  Status ReadInto(uint64_t offset, MutableByteSpan out) const;
};

// A range of a file, and where its bytes go.
struct RangeRead {
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;  // more than 0
  ByteSink *sink = nullptr;
};

// A file being written: nobody sees it before Commit(), and without one it leaves
// nothing behind.  For one thread.
class FileWriter {
 public:
  virtual ~FileWriter() = default;

  // Appends the pieces in turn.  Those that have an owner may be kept by it for a while;
  // what is only lent may be reused when this returns.
  virtual Status Append(std::span<const Piece> pieces) = 0;

  // Gives the file its name, in place of any older one.  If `durable`, what was
  // written survives a loss of power from here on.
  virtual Status Commit(bool durable) = 0;
};

// Follows what appears below one folder.  For one thread.
class Listing {
 public:
  virtual ~Listing() = default;

  // Names of files that may have appeared since the last call, sorted.  May repeat
  // names; leaves none out but those of a folder that many newer ones follow.
  virtual Result<std::vector<std::string>> Next() = 0;

  // Says that no file whose name sorts before `name` is of interest any more: Next()
  // may leave them out.
  virtual void Settle(const std::string &name) { (void)name; }
};

// Waits for changes.
class Watcher {
 public:
  virtual ~Watcher() = default;

  // Returns when something may have changed, when woken, or after `time`.
  virtual void Wait(Clock::Duration time) = 0;

  // Ends every Wait(), now and later.  From any thread.
  virtual void Wake() = 0;
};

// Proof that this process alone records; given up when destroyed.
class Claim {
 public:
  virtual ~Claim() = default;
};

// A trial's folder.  Names are relative to it, "/" between their parts, and must stay
// inside: names from outside are checked by the caller (format::IsInsideTrial), and
// symbolic links below the folder are never followed.  Safe from any thread.
class Store {
 public:
  static constexpr uint64_t kTextLimit = uint64_t{256} << 20;

  virtual ~Store() = default;

  // The folder as a person would write it, for messages.
  virtual const std::string &Location() const = 0;

  // NOT_FOUND if there is no such file; a store that would have to ask a server says so
  // only when it is read.
  virtual Result<std::shared_ptr<FileReader>> Open(const std::string &name) = 0;

  // When the file was written, in seconds since 1970; nothing if there is none.
  virtual Result<std::optional<double>> ModifiedAt(const std::string &name) = 0;

  // The names of all files in a folder (not below), sorted; none if it is missing.
  virtual Result<std::vector<std::string>> List(const std::string &folder) = 0;

  // Files two levels down: <folder>/<bucket>/<file>.
  virtual std::unique_ptr<Listing> Follow(const std::string &folder) = 0;

  virtual Result<std::unique_ptr<FileWriter>> Create(const std::string &name) = 0;

  virtual Status Remove(const std::string &name) = 0;

  // NULL if another living process holds it.
  virtual Result<std::unique_ptr<Claim>> Acquire(const std::string &name) = 0;

  virtual std::unique_ptr<Watcher> Watch() = 0;

  // How many files it pays to write, or to read with ReadTexts(), at a time.
  virtual int WritesAtOnce() const { return 1; }
  virtual int ReadsAtOnce() const { return 1; }

  // Whether looking for news is a request that is paid for.
  virtual bool IsMetered() const { return false; }

  Result<bool> Exists(const std::string &name);

  // The whole of a small file; UNSUPPORTED if it has more than `limit` bytes.
  virtual Result<std::string> ReadText(const std::string &name, uint64_t limit = kTextLimit);

  // The same for each of several files.
  virtual std::vector<Result<std::string>> ReadTexts(std::span<const std::string> names);

  // Reads several ranges, side by side where that pays.  For each as FileReader::Read(),
  // but that a sink without room is no failure.
  virtual std::vector<Status> ReadRanges(std::span<const RangeRead> ranges);

  Status WriteText(const std::string &name, std::string_view text, bool durable);
};

// The store for a path: a folder ("~" is the home folder) or "s3://bucket/prefix", which
// need not exist.  Asks no server.  Fails: INVALID_ARGUMENT (empty), INVALID_CONFIG,
// UNSUPPORTED (another scheme).
Result<std::shared_ptr<Store>> OpenStore(std::string_view path, const StoreOptions &options = {},
                                         const Logger &logger = {});

}  // namespace smdebug::storage
