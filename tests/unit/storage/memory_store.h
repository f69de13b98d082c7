// A trial in memory, for tests: exact, instant, and as faulty as a test wants it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "storage/store.h"

namespace smdebug::storage {

class MemoryStore final : public Store {
 public:
  // What a test may have a call fail with; the name is that of the file.
  enum class Call { kOpen, kRead, kExists, kList, kCreate, kAppend, kCommit };
  using Fault = std::function<Status(Call, const std::string &name)>;

  MemoryStore();
  ~MemoryStore() override;

  // Asked before every call; a failure it returns is the call's.
  void SetFault(Fault fault);
  // Run by every Watcher::Wait() with the time it would take, in place of waiting.
  void SetOnWait(std::function<void(Clock::Duration)> on_wait);

  // Files by name, as they are now.
  std::map<std::string, std::string> Files() const;
  void Put(const std::string &name, std::string content, double modified_at = 0);

  const std::string &Location() const override;
  Result<std::shared_ptr<FileReader>> Open(const std::string &name) override;
  Result<std::optional<double>> ModifiedAt(const std::string &name) override;
  Result<std::optional<FileVersion>> VersionOf(const std::string &name) override;
  Result<std::vector<std::string>> List(const std::string &folder) override;
  Result<std::vector<std::string>> Folders(const std::string &folder) override;
  std::unique_ptr<Listing> Follow(const std::string &folder) override;
  Result<std::unique_ptr<FileWriter>> Create(const std::string &name) override;
  Status Remove(const std::string &name) override;
  Result<std::unique_ptr<Claim>> Acquire(const std::string &name) override;
  std::unique_ptr<Watcher> Watch() override;
  int WritesAtOnce() const override { return writes_at_once_; }
  void SetWritesAtOnce(int count) { writes_at_once_ = count; }
  int ReadsAtOnce() const override { return reads_at_once_; }
  void SetReadsAtOnce(int count) { reads_at_once_ = count; }
  bool IsMetered() const override { return is_metered_; }
  void SetMetered() { is_metered_ = true; }

 private:
  struct Content;
  std::shared_ptr<Content> content_;
  int writes_at_once_ = 1;
  int reads_at_once_ = 1;
  bool is_metered_ = false;
};

}  // namespace smdebug::storage
