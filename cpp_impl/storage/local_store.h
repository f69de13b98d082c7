// A trial in a folder of the file system.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_descriptor.h"
#include "storage/store.h"

namespace smdebug::storage {

class LocalStore final : public Store {
 public:
  // Makes nothing: the folder is made with the first file.
  static Result<std::shared_ptr<Store>> Open(std::string_view path);

  explicit LocalStore(std::string root) : root_(std::move(root)) {}

  const std::string &Location() const override { return root_; }
  Result<std::shared_ptr<FileReader>> Open(const std::string &name) override;
  Result<std::optional<double>> ModifiedAt(const std::string &name) override;
  Result<std::vector<std::string>> List(const std::string &folder) override;
  std::unique_ptr<Listing> Follow(const std::string &folder) override;
  Result<std::unique_ptr<FileWriter>> Create(const std::string &name) override;
  Status Remove(const std::string &name) override;
  Result<std::unique_ptr<Claim>> Acquire(const std::string &name) override;
  std::unique_ptr<Watcher> Watch() override;

 private:
  std::string PathOf(std::string_view name) const;
  // Opens below the root without following a symbolic link.
  Result<FileDescriptor> OpenBelow(const std::string &name, int flags) const;
  // The folder of that name, made with its parents where missing.
  Result<FileDescriptor> MakeFolder(const std::string &folder) const;

  const std::string root_;  // absolute
};

}  // namespace smdebug::storage
