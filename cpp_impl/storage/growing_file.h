// A file that is written over time and gets its name at its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::storage {

// For one thread.  If it is destroyed before Commit() succeeded, a store that keeps incomplete
// files keeps this one under its temporary name.
class GrowingFile {
 public:
  virtual ~GrowingFile() = default;

  // Appends the whole text, or fails and appends nothing.  If the store keeps incomplete files, the
  // text survives the process from here on.
  virtual Status Append(std::string_view text) = 0;

  // Gives the file its name and closes it.  Fails with TRIAL_EXISTS if the name is taken.  After a
  // failure it can be called again, also with another name.
  virtual Status Commit(const std::string &name) = 0;
};

using UseText = std::function<Status(std::string_view text)>;

// A store that keeps incomplete files.  Safe from any thread.
class GrowingStore {
 public:
  virtual ~GrowingStore() = default;
  virtual Result<std::unique_ptr<GrowingFile>> Grow(const std::string &temporary_name) = 0;
  virtual Status TakeOver(const std::string &temporary_name, const UseText &use) = 0;
};

// Creates a file that gets its name at its end.  A store that keeps incomplete files calls it
// `temporary_name` until then, and fails if that exists.  Other stores get it at its end.  The
// store must outlive the file.
Result<std::unique_ptr<GrowingFile>> Grow(Store &store, const std::string &temporary_name);

// If the process that wrote the incomplete file is proved dead, passes the file's text to `use`,
// and removes the file if that succeeds.  Else does nothing.
Status TakeOver(Store &store, const std::string &temporary_name, const UseText &use);

// Keeps the text in memory until Commit().  The store must outlive it.
class BufferedFile final : public GrowingFile {
 public:
  explicit BufferedFile(Store &store) : store_(store) {}
  Status Append(std::string_view text) override;
  Status Commit(const std::string &name) override;

 private:
  Store &store_;
  std::string text_;
};

// Writes to a temporary file, and renames it.  Names are relative to `root`.
class LocalGrowingFile final : public GrowingFile {
 public:
  // Creates a folder and its ancestors if they are missing.
  using MakeFolder = std::function<Status(const std::string &folder)>;

  // `path` is for messages.
  LocalGrowingFile(FileDescriptor root, FileDescriptor file, std::string temporary_name,
                   std::string path, MakeFolder make_folder)
      : root_(std::move(root)),
        file_(std::move(file)),
        temporary_name_(std::move(temporary_name)),
        path_(std::move(path)),
        make_folder_(std::move(make_folder)) {}
  Status Append(std::string_view text) override;
  Status Commit(const std::string &name) override;

 private:
  const FileDescriptor root_;
  FileDescriptor file_;
  const std::string temporary_name_;
  const std::string path_;
  const MakeFolder make_folder_;
  int64_t size_ = 0;
};

}  // namespace smdebug::storage
