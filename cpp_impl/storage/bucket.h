// Reads and writes the objects of a bucket by key, for tools that work below the level of a trial.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3_client.h"
#include "base/bytes.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/result.h"
#include "storage/store_options.h"

namespace smdebug::storage {

// Safe from any thread.  Every call fails as aws::S3Call::Wait().  Must not be used or destroyed in
// a child forked since: see Mark().
class Bucket {
 public:
  // The most bytes that one call reads or writes: the size limit of an event file.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  // `name` may be the ARN of an access point.  Sends no request.  Fails with INVALID_ARGUMENT,
  // INVALID_CONFIG or UNSUPPORTED.
  static Result<Bucket> Open(std::string_view name, const StoreOptions &options,
                             const Logger &logger);

  explicit Bucket(std::shared_ptr<aws::S3Client> client) : client_(std::move(client)) {}

  struct Query {
    std::string prefix{};
    std::string start_after{};  // lists only keys that sort after this one
    // If set, groups the keys that contain this text after the prefix into one entry.  The entry
    // ends with the delimiter.
    std::string delimiter{};
  };
  // Returns the keys in order.
  Result<std::vector<std::string>> List(const Query &query) const;

  // Returns nothing if the object does not exist.
  Result<std::optional<uint64_t>> SizeOf(const std::string &key) const;

  // Reads at most `length` bytes, starting at `offset`.  Returns fewer at the object's end.  Fails
  // with UNSUPPORTED for more than kMostBytes.
  Result<std::string> Read(const std::string &key, uint64_t offset,
                           std::optional<uint64_t> length) const;

  // Replaces the object.
  Status Write(const std::string &key, ByteSpan content) const;

  // Succeeds if the object does not exist.
  Status Remove(const std::string &key) const;

  const ProcessMark &Mark() const { return process_; }

 private:
  Result<std::string> ReadRange(const std::string &key, uint64_t offset, uint64_t length) const;

  std::shared_ptr<aws::S3Client> client_;
  ProcessMark process_;
};

}  // namespace smdebug::storage
