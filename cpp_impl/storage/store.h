// Stores trials: the only interface to the outside.  No layer above this one knows whether a store
// is a folder, a bucket, or memory in a test.
#pragma once

#include <cstdint>
#include <functional>
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

// Reads an open file.  Safe from any thread.
class FileReader {
 public:
  virtual ~FileReader() = default;

  // May send a request on the first call.
  virtual Result<uint64_t> Size() const = 0;

  // Passes `length` bytes, starting at `offset`, to `sink`.  Fails with CORRUPT_DATA if the file
  // ends before, or the sink has no room.  Fails with NOT_FOUND if the file does not exist and
  // Open() did not check.
  virtual Status Read(uint64_t offset, uint64_t length, ByteSink &sink) const = 0;

  // Fills `out`, starting at `offset`.  Fails as Read().
  Status ReadInto(uint64_t offset, MutableByteSpan out) const;
};

// A range of a file, and the sink for its bytes.
struct RangeRead {
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;  // more than 0
  ByteSink *sink = nullptr;
};

// Writes a file.  The file is invisible before Commit(), and without a Commit() nothing is left
// behind.  For one thread.
class FileWriter {
 public:
  virtual ~FileWriter() = default;

  // Appends the pieces in order.  May keep pieces that have an owner for a while.  Borrowed pieces
  // may be reused when this returns.
  virtual Status Append(std::span<const Piece> pieces) = 0;

  // Gives the file its name, and replaces any older file.  If `durable`, the content survives a
  // power loss from here on.
  virtual Status Commit(bool durable) = 0;
};

// Lists the files that appear below one folder.  For one thread.
class Listing {
 public:
  virtual ~Listing() = default;

  // Returns the sorted names of files that may have appeared since the last call.  May repeat
  // names.  Omits no name, except those of a folder that many newer folders follow.
  virtual Result<std::vector<std::string>> Next() = 0;

  // Declares that files whose names sort before `name` are no longer of interest: Next() may omit
  // them.
  virtual void Settle(const std::string &name) { (void)name; }
};

// Waits for changes.
class Watcher {
 public:
  virtual ~Watcher() = default;

  // Returns when something may have changed, after Wake(), or after `time`.
  virtual void Wait(Clock::Duration time) = 0;

  // Stops every Wait(), now and later.  Safe from any thread.
  virtual void Wake() = 0;
};

// Proves that only this process records.  Released when destroyed.
class Claim {
 public:
  virtual ~Claim() = default;
};

// Identifies the file that a name leads to.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;

  bool operator==(const FileIdentity &) const = default;
};

// Tells the contents of a file apart.
struct FileVersion {
  std::string text;  // differs from that of any other content: of ETag, size and time
  uint64_t size = 0;
};

// A trial's folder.  Names are relative to it, with "/" between their parts, and must stay inside.
// The caller checks names from outside (format::IsInsideTrial).  Symbolic links below the folder
// are never followed.  Safe from any thread.
class Store {
 public:
  static constexpr uint64_t kTextLimit = uint64_t{256} << 20;

  virtual ~Store() = default;

  // Returns the folder as a person would write it, for messages.
  virtual const std::string &Location() const = 0;

  // Fails with NOT_FOUND if the file does not exist.  A store on a server reports this only when
  // the file is read.
  virtual Result<std::shared_ptr<FileReader>> Open(const std::string &name) = 0;

  // Returns when the file was written, in seconds since 1970, or nothing if it does not exist.
  virtual Result<std::optional<double>> ModifiedAt(const std::string &name) = 0;

  // Returns nothing if the file does not exist.
  virtual Result<std::optional<FileVersion>> VersionOf(const std::string &name) = 0;

  // Returns the sorted names of all files in a folder, without subfolders.  Returns none if the
  // folder is missing.
  virtual Result<std::vector<std::string>> List(const std::string &folder) = 0;

  // Returns the sorted names of the folders in a folder.  Returns none if the folder is missing.
  virtual Result<std::vector<std::string>> Folders(const std::string &folder) = 0;

  // Follows the files two levels down: <folder>/<bucket>/<file>.
  virtual std::unique_ptr<Listing> Follow(const std::string &folder) = 0;

  virtual Result<std::unique_ptr<FileWriter>> Create(const std::string &name) = 0;

  // Creates a file to which several processes give one name, perhaps at once.  `writer` tells them
  // apart.  With kKeep, a file that has the name at Commit() stays; a store on a server replaces
  // it.
  enum class Older { kReplace, kKeep };
  virtual Result<std::unique_ptr<FileWriter>> CreateShared(const std::string &name,
                                                           std::string_view writer, Older older) {
    (void)writer;
    (void)older;
    return Create(name);
  }

  virtual Status Remove(const std::string &name) = 0;

  // Returns the identity of the file that `name` leads to now, or nothing if it does not exist.
  // Stores that have no identities return the same one for every name, and send no request.
  virtual Result<std::optional<FileIdentity>> IdentityOf(const std::string &name) {
    (void)name;
    return std::optional(FileIdentity());
  }

  // Removes the files that writers of killed processes left in `folder` and in at most 1000
  // folders up to two levels below it, the newest first.  `judge` says which; it gets the name that
  // the file would have had.
  enum class Leftover {
    kKeep,
    kRemoveIfDead,       // if it is proved that no living process writes it
    kRemoveUnlessAlive,  // unless it is proved that a living process writes it
  };
  using Judge = std::function<Leftover(std::string_view name)>;
  virtual Status RemoveLeftovers(const std::string &folder, const Judge &judge) {
    (void)folder;
    (void)judge;
    return Status::Ok();
  }

  // Returns true if every process that can reach the folder sees its claims, so that acquiring a
  // claim proves that its former holder is dead.
  virtual bool HasExactClaims() { return false; }

  // Returns NULL if another living process holds the claim.
  virtual Result<std::unique_ptr<Claim>> Acquire(const std::string &name) = 0;

  virtual std::unique_ptr<Watcher> Watch() = 0;

  // Returns how many files are worth writing, or reading with ReadTexts(), at a time.
  virtual int WritesAtOnce() const { return 1; }
  virtual int ReadsAtOnce() const { return 1; }

  // Returns true if checking for news is a billed request.
  virtual bool IsMetered() const { return false; }

  Result<bool> Exists(const std::string &name);

  // Returns the whole of a small file.  Fails with UNSUPPORTED if it has more than `limit` bytes.
  virtual Result<std::string> ReadText(const std::string &name, uint64_t limit = kTextLimit);

  // Reads each of several files as ReadText() does.
  virtual std::vector<Result<std::string>> ReadTexts(std::span<const std::string> names);

  // Fills `out` from a file that need not stay open, starting at `offset`.  Returns the number of
  // bytes, which is less if the file ends before.  Fails as Open() and FileReader::Read().
  virtual Result<size_t> ReadPart(const std::string &name, uint64_t offset, MutableByteSpan out);

  // Reads several ranges, concurrently where that pays.  Each status is that of FileReader::Read(),
  // except that a sink without room is not a failure.
  virtual std::vector<Status> ReadRanges(std::span<const RangeRead> ranges);

  Status WriteText(const std::string &name, std::string_view text, bool durable);
  // Writes a file as CreateShared() creates it.
  Status WriteSharedText(const std::string &name, std::string_view text, std::string_view writer,
                         Older older, bool durable);
};

// Opens the store for a path: a folder ("~" is the home folder) or "s3://bucket/prefix".  The path
// need not exist.  Sends no request.  Fails: INVALID_ARGUMENT (empty), INVALID_CONFIG, UNSUPPORTED
// (another scheme).
Result<std::shared_ptr<Store>> OpenStore(std::string_view path, const StoreOptions &options = {},
                                         const Logger &logger = {});

}  // namespace smdebug::storage
