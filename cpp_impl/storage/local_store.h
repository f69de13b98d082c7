// Stores a trial in a folder of the file system.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "storage/growing_file.h"
#include "storage/store.h"
#include "storage/versions.h"

namespace smdebug::storage {

class LocalRoot;

class LocalStore final : public Store, public GrowingStore, public VersionStore {
 public:
  // Creates nothing: the folder is created with the first file.
  static Result<std::shared_ptr<Store>> At(std::string_view path);

  explicit LocalStore(std::string root) : root_path_(std::move(root)) {}

  const std::string &Location() const override { return root_path_; }
  Result<std::shared_ptr<FileReader>> Open(const std::string &name) override;
  Result<size_t> ReadPart(const std::string &name, uint64_t offset, MutableByteSpan out) override;
  Result<std::optional<double>> ModifiedAt(const std::string &name) override;
  Result<std::optional<FileVersion>> VersionOf(const std::string &name) override;
  Result<std::vector<std::string>> List(const std::string &folder) override;
  Result<std::vector<std::string>> Folders(const std::string &folder) override;
  std::unique_ptr<Listing> Follow(const std::string &folder) override;
  Result<std::vector<ListedFile>> ListVersions(const std::string &folder) override;
  Result<std::unique_ptr<FileWriter>> Create(const std::string &name) override;
  Result<std::unique_ptr<FileWriter>> CreateShared(const std::string &name, std::string_view writer,
                                                   Older older) override;
  Result<std::unique_ptr<GrowingFile>> Grow(const std::string &temporary_name) override;
  Status TakeOver(const std::string &temporary_name, const UseText &use) override;
  Status Remove(const std::string &name) override;
  // If the path now leads to another folder, uses that folder from here on.
  Result<std::optional<FileIdentity>> IdentityOf(const std::string &name) override;
  Status RemoveLeftovers(const std::string &folder, const Judge &judge) override;
  bool HasExactClaims() override;
  Result<std::unique_ptr<Claim>> Acquire(const std::string &name) override;
  std::unique_ptr<Watcher> Watch() override;
  // One write fills pages while the other waits for memory or the disk.
  int WritesAtOnce() const override { return 2; }

 private:
  std::string PathOf(std::string_view name) const;
  // Returns the root.  Opens it once it exists.
  Result<std::shared_ptr<LocalRoot>> Root() SMD_EXCLUDES(mutex_);
  void ForgetRoot() SMD_EXCLUDES(mutex_);
  // Drops the root if the path no longer leads to it.
  void CheckRoot() SMD_EXCLUDES(mutex_);
  // Descends into at most `*folders` folders, the newest first.
  Status RemoveLeftovers(const std::string &folder, int levels, int *folders, const Judge &judge);
  // Removes a temporary file.  While its writer lives, it holds a lock on it.
  Status RemoveLeftover(const std::string &name, Leftover judgement);
  // Opens a file below the root without following symbolic links.
  Result<FileDescriptor> OpenBelow(const std::string &name, int flags);
  // Creates the folder and its ancestors if they are missing.
  Status MakeFolder(const std::string &folder);
  // Opens a file for writing, and creates its folder if it is missing.  Sets `root` to the folder
  // that the name is relative to.
  Result<std::unique_ptr<FileWriter>> CreateAs(const std::string &name, std::string temporary,
                                               Older older);
  Result<FileDescriptor> CreateBelow(const std::string &name, int flags,
                                     std::shared_ptr<LocalRoot> *root);

  const std::string root_path_;  // absolute
  Mutex mutex_;
  std::shared_ptr<LocalRoot> root_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::storage
