// Stores a trial in a bucket.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aws/s3_client.h"
#include "base/log.h"
#include "storage/store.h"
#include "storage/store_options.h"
#include "storage/versions.h"

namespace smdebug::storage {

class S3Store final : public Store, public VersionStore {
 public:
  // Sends no request yet.  `url` is "s3://bucket/prefix".  Fails with INVALID_ARGUMENT or
  // INVALID_CONFIG.
  static Result<std::shared_ptr<Store>> At(std::string_view url, const StoreOptions &options,
                                           const Logger &logger);

  // For tests.  `prefix` has no slashes at its ends.
  S3Store(std::shared_ptr<aws::S3Client> client, const std::string &prefix);

  const std::string &Location() const override { return location_; }
  Result<std::shared_ptr<FileReader>> Open(const std::string &name) override;
  Result<std::optional<double>> ModifiedAt(const std::string &name) override;
  Result<std::optional<FileVersion>> VersionOf(const std::string &name) override;
  Result<std::vector<std::string>> List(const std::string &folder) override;
  Result<std::vector<std::string>> Folders(const std::string &folder) override;
  std::unique_ptr<Listing> Follow(const std::string &folder) override;
  Result<std::vector<ListedFile>> ListVersions(const std::string &folder) override;
  Result<std::unique_ptr<FileWriter>> Create(const std::string &name) override;
  Status Remove(const std::string &name) override;
  // Excludes only other processes of this machine and user: a bucket has no locks.
  Result<std::unique_ptr<Claim>> Acquire(const std::string &name) override;
  std::unique_ptr<Watcher> Watch() override;
  // The number of requests in flight at a time.
  int WritesAtOnce() const override { return 8; }
  int ReadsAtOnce() const override { return 256; }
  bool IsMetered() const override { return true; }
  Result<std::string> ReadText(const std::string &name, uint64_t limit) override;
  std::vector<Result<std::string>> ReadTexts(std::span<const std::string> names) override;
  std::vector<Status> ReadRanges(std::span<const RangeRead> ranges) override;

 private:
  std::string KeyOf(std::string_view name) const { return key_prefix_ + std::string(name); }

  const std::shared_ptr<aws::S3Client> client_;
  const std::string key_prefix_;  // empty or ends with a slash
  const std::string location_;
};

// Finds credentials, region and endpoint as docs/s3.md describes.
Result<std::shared_ptr<aws::S3Client>> OpenS3Client(const std::string &bucket,
                                                    const StoreOptions &options,
                                                    const Logger &logger);

}  // namespace smdebug::storage
