#include "storage/memory_store.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

#include "base/strings.h"

namespace smdebug::storage {

struct MemoryStore::Content {
  mutable Mutex mutex;
  std::map<std::string, std::shared_ptr<const std::string>> files SMD_GUARDED_BY(mutex);
  std::map<std::string, double> times SMD_GUARDED_BY(mutex);
  std::set<std::string> claims SMD_GUARDED_BY(mutex);
  Fault fault SMD_GUARDED_BY(mutex);
  std::function<void(Clock::Duration)> on_wait SMD_GUARDED_BY(mutex);

  Status Ask(Call call, const std::string &name) {
    Fault asked;
    {
      const MutexLock lock(mutex);
      asked = fault;
    }
    return asked ? asked(call, name) : Status::Ok();
  }
};

namespace {

using Files = std::map<std::string, std::shared_ptr<const std::string>>;

std::vector<std::string> NamesBelow(const Files &files, const std::string &prefix) {
  std::vector<std::string> names;
  for (auto at = files.lower_bound(prefix); at != files.end() && at->first.starts_with(prefix);
       ++at) {
    names.push_back(at->first);
  }
  return names;
}

template <class Ask>
class MemoryReader final : public FileReader {
 public:
  MemoryReader(std::shared_ptr<const std::string> text, std::string name, Ask ask)
      : text_(std::move(text)), name_(std::move(name)), ask_(std::move(ask)) {}
  Result<uint64_t> Size() const override { return text_->size(); }
  Status Read(uint64_t offset, uint64_t length, ByteSink &sink) const override {
    SMD_RETURN_IF_ERROR(ask_(name_));
    if (offset > text_->size() || length > text_->size() - offset) {
      return CorruptData(name_, "lies beyond the file's end");
    }
    ByteSpan rest = AsBytes(*text_).subspan(offset, length);
    while (!rest.empty()) {
      const MutableByteSpan room = sink.Room();
      const size_t count = std::min(room.size(), rest.size());
      if (count == 0) return CorruptData(name_, "is refused");
      std::memcpy(room.data(), rest.data(), count);
      sink.Advance(count);
      rest = rest.subspan(count);
    }
    return Status::Ok();
  }

 private:
  std::shared_ptr<const std::string> text_;
  std::string name_;
  Ask ask_;
};

// Append and commit are given by the store, which alone knows its content.
class MemoryWriter final : public FileWriter {
 public:
  MemoryWriter(std::function<Status()> before_append, std::function<Status(std::string)> commit)
      : before_append_(std::move(before_append)), commit_(std::move(commit)) {}
  Status Append(std::span<const Piece> pieces) override {
    SMD_RETURN_IF_ERROR(before_append_());
    for (const Piece &piece : pieces) text_.append(AsText(piece.bytes));
    return Status::Ok();
  }
  Status Commit(bool) override { return commit_(std::move(text_)); }

 private:
  std::string text_;
  std::function<Status()> before_append_;
  std::function<Status(std::string)> commit_;
};

class MemoryListing final : public Listing {
 public:
  explicit MemoryListing(std::function<Result<std::vector<std::string>>()> list)
      : list_(std::move(list)) {}
  Result<std::vector<std::string>> Next() override { return list_(); }

 private:
  std::function<Result<std::vector<std::string>>()> list_;
};

class MemoryWatcher final : public Watcher {
 public:
  explicit MemoryWatcher(std::function<void(Clock::Duration)> wait) : wait_(std::move(wait)) {}
  void Wait(Clock::Duration time) override { wait_(time); }
  void Wake() override {}

 private:
  std::function<void(Clock::Duration)> wait_;
};

class MemoryClaim final : public Claim {
 public:
  explicit MemoryClaim(std::function<void()> give_up) : give_up_(std::move(give_up)) {}
  ~MemoryClaim() override { give_up_(); }

 private:
  std::function<void()> give_up_;
};

}  // namespace

MemoryStore::MemoryStore() : content_(std::make_shared<Content>()) {}

MemoryStore::~MemoryStore() = default;

void MemoryStore::SetFault(Fault fault) {
  const MutexLock lock(content_->mutex);
  content_->fault = std::move(fault);
}

void MemoryStore::SetOnWait(std::function<void(Clock::Duration)> on_wait) {
  const MutexLock lock(content_->mutex);
  content_->on_wait = std::move(on_wait);
}

std::map<std::string, std::string> MemoryStore::Files() const {
  const MutexLock lock(content_->mutex);
  std::map<std::string, std::string> files;
  for (const auto &[name, text] : content_->files) files.emplace(name, *text);
  return files;
}

void MemoryStore::Put(const std::string &name, std::string content, double modified_at) {
  const MutexLock lock(content_->mutex);
  content_->times[name] = modified_at;
  content_->files[name] = std::make_shared<const std::string>(std::move(content));
}

const std::string &MemoryStore::Location() const {
  static const std::string kLocation = "memory";
  return kLocation;
}

Result<std::shared_ptr<FileReader>> MemoryStore::Open(const std::string &name) {
  SMD_RETURN_IF_ERROR(content_->Ask(Call::kOpen, name));
  const MutexLock lock(content_->mutex);
  const auto found = content_->files.find(name);
  if (found == content_->files.end()) {
    return Status(Code::kNotFound, StrCat(name, ": no such file")).With("path", name);
  }
  auto ask = [content = content_](const std::string &file) {
    return content->Ask(Call::kRead, file);
  };
  return std::shared_ptr<FileReader>(
      std::make_shared<MemoryReader<decltype(ask)>>(found->second, name, ask));
}

Result<std::optional<double>> MemoryStore::ModifiedAt(const std::string &name) {
  SMD_RETURN_IF_ERROR(content_->Ask(Call::kExists, name));
  const MutexLock lock(content_->mutex);
  if (content_->files.count(name) == 0) return std::optional<double>();
  return std::optional<double>(content_->times[name]);
}

Result<std::optional<FileVersion>> MemoryStore::VersionOf(const std::string &name) {
  SMD_ASSIGN_OR_RETURN(const auto modified, ModifiedAt(name));
  const MutexLock lock(content_->mutex);
  const auto found = content_->files.find(name);
  if (!modified || found == content_->files.end()) return std::optional<FileVersion>();
  return std::optional(FileVersion{StrCat(*found->second, "-", *modified), found->second->size()});
}

Result<std::vector<std::string>> MemoryStore::List(const std::string &folder) {
  SMD_RETURN_IF_ERROR(content_->Ask(Call::kList, folder));
  const MutexLock lock(content_->mutex);
  return NamesBelow(content_->files, folder + "/");
}

Result<std::vector<std::string>> MemoryStore::Folders(const std::string &folder) {
  SMD_RETURN_IF_ERROR(content_->Ask(Call::kList, folder));
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::set<std::string> folders;
  const MutexLock lock(content_->mutex);
  for (const auto &[name, content] : content_->files) {
    const size_t slash = name.starts_with(prefix) ? name.find('/', prefix.size()) : name.npos;
    if (slash != name.npos) folders.insert(name.substr(0, slash));
  }
  return std::vector<std::string>(folders.begin(), folders.end());
}

std::unique_ptr<Listing> MemoryStore::Follow(const std::string &folder) {
  return std::make_unique<MemoryListing>(
      [content = content_, folder]() -> Result<std::vector<std::string>> {
        SMD_RETURN_IF_ERROR(content->Ask(Call::kList, folder));
        const MutexLock lock(content->mutex);
        return NamesBelow(content->files, folder + "/");
      });
}

Result<std::unique_ptr<FileWriter>> MemoryStore::Create(const std::string &name) {
  SMD_RETURN_IF_ERROR(content_->Ask(Call::kCreate, name));
  auto before_append = [content = content_, name] { return content->Ask(Call::kAppend, name); };
  auto commit = [content = content_, name](std::string text) {
    SMD_RETURN_IF_ERROR(content->Ask(Call::kCommit, name));
    const MutexLock lock(content->mutex);
    content->files[name] = std::make_shared<const std::string>(std::move(text));
    return Status::Ok();
  };
  return std::unique_ptr<FileWriter>(
      std::make_unique<MemoryWriter>(std::move(before_append), std::move(commit)));
}

Status MemoryStore::Remove(const std::string &name) {
  const MutexLock lock(content_->mutex);
  content_->files.erase(name);
  return Status::Ok();
}

Result<std::unique_ptr<Claim>> MemoryStore::Acquire(const std::string &name) {
  const MutexLock lock(content_->mutex);
  if (!content_->claims.insert(name).second) return std::unique_ptr<Claim>();
  return std::unique_ptr<Claim>(std::make_unique<MemoryClaim>([content = content_, name] {
    const MutexLock unlock(content->mutex);
    content->claims.erase(name);
  }));
}

std::unique_ptr<Watcher> MemoryStore::Watch() {
  return std::make_unique<MemoryWatcher>([content = content_](Clock::Duration time) {
    std::function<void(Clock::Duration)> on_wait;
    {
      const MutexLock lock(content->mutex);
      on_wait = content->on_wait;
    }
    if (on_wait) on_wait(time);
  });
}

}  // namespace smdebug::storage
