#include "storage/s3_store.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "aws/digest.h"
#include "aws/s3_objects.h"
#include "aws/s3_upload.h"
#include "base/deferral.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "storage/local_store.h"
#include "storage/range_groups.h"

namespace smdebug::storage {
namespace {

class S3Reader final : public FileReader {
 public:
  S3Reader(std::shared_ptr<aws::S3Client> client, std::string key)
      : client_(std::move(client)), key_(std::move(key)) {}

  Result<uint64_t> Size() const override {
    const DeferringLock lock(mutex_);  // the request may log
    if (!size_) {
      SMD_ASSIGN_OR_RETURN(const auto info, aws::HeadObject(*client_, key_));
      if (!info) {
        const std::string location = client_->LocationOf(key_);
        return Status(Code::kNotFound, StrCat(location, ": no such file")).With("path", location);
      }
      size_ = info->size;
    }
    return *size_;
  }
  Status Read(uint64_t offset, uint64_t length, ByteSink &sink) const override {
    return aws::GetRange(*client_, {key_, offset, length, &sink});
  }

 private:
  const std::shared_ptr<aws::S3Client> client_;
  const std::string key_;
  mutable Mutex mutex_;
  mutable std::optional<uint64_t> size_ SMD_GUARDED_BY(mutex_);
};

// A bucket's objects are durable as soon as they exist.
class S3Writer final : public FileWriter {
 public:
  S3Writer(std::shared_ptr<aws::S3Client> client, std::string key)
      : upload_(std::move(client), std::move(key)) {}
  Status Append(std::span<const Piece> pieces) override { return upload_.Append(pieces); }
  Status Commit(bool) override { return upload_.Finish(); }

 private:
  aws::S3Upload upload_;
};

// Returns the keys as names.  Skips keys that end in a slash: consoles create such objects to show
// a folder.
std::vector<std::string> NamesOf(std::vector<std::string> keys, size_t prefix_size) {
  std::erase_if(keys, [](const std::string &key) { return key.ends_with('/'); });
  for (std::string &key : keys) key.erase(0, prefix_size);
  return keys;
}

class S3Listing final : public Listing {
 public:
  S3Listing(std::shared_ptr<aws::S3Client> client, std::string key_prefix, std::string_view folder)
      : client_(std::move(client)),
        key_prefix_(std::move(key_prefix)),
        query_{.prefix = StrCat(key_prefix_, folder, "/")} {}

  Result<std::vector<std::string>> Next() override {
    SMD_ASSIGN_OR_RETURN(std::vector<std::string> keys, aws::ListKeys(*client_, query_));
    return NamesOf(std::move(keys), key_prefix_.size());
  }
  void Settle(const std::string &name) override {
    query_.start_after = std::max(query_.start_after, key_prefix_ + name);
  }

 private:
  const std::shared_ptr<aws::S3Client> client_;
  const std::string key_prefix_;
  aws::ListQuery query_;
};

// A bucket sends no events about changes, so this watcher only waits for time to pass.
class S3Watcher final : public Watcher {
 public:
  void Wait(Clock::Duration time) override {
    Clock &clock = Clock::System();
    const Deadline deadline = Deadline::After(clock, time);
    const MutexLock lock(mutex_);
    while (!is_woken_ && !deadline.IsOver(clock)) {
      clock.WaitFor(woken_, mutex_, deadline.Left(clock));
    }
  }
  void Wake() override {
    const MutexLock lock(mutex_);
    is_woken_ = true;
    woken_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar woken_;
  bool is_woken_ SMD_GUARDED_BY(mutex_) = false;
};

class NoClaim final : public Claim {};

}  // namespace

S3Store::S3Store(std::shared_ptr<aws::S3Client> client, const std::string &prefix)
    : client_(std::move(client)),
      key_prefix_(prefix.empty() ? "" : prefix + "/"),
      location_(client_->LocationOf(prefix)) {}

Result<std::shared_ptr<Store>> S3Store::At(std::string_view url, const StoreOptions &options,
                                           const Logger &logger) {
  SMD_ASSIGN_OR_RETURN(const aws::S3Location location, aws::ParseS3Url(url));
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<aws::S3Client> client,
                       OpenS3Client(location.bucket, options, logger));
  return std::shared_ptr<Store>(std::make_shared<S3Store>(std::move(client), location.prefix));
}

Result<std::shared_ptr<FileReader>> S3Store::Open(const std::string &name) {
  return std::shared_ptr<FileReader>(std::make_shared<S3Reader>(client_, KeyOf(name)));
}

Result<std::optional<double>> S3Store::ModifiedAt(const std::string &name) {
  SMD_ASSIGN_OR_RETURN(const auto info, aws::HeadObject(*client_, KeyOf(name)));
  return info ? std::optional<double>(info->modified_at) : std::optional<double>();
}

Result<std::optional<FileVersion>> S3Store::VersionOf(const std::string &name) {
  SMD_ASSIGN_OR_RETURN(const auto info, aws::HeadObject(*client_, KeyOf(name)));
  if (!info) return std::optional<FileVersion>();
  const auto seconds = static_cast<int64_t>(info->modified_at);
  return std::optional(FileVersion{StrCat(info->etag, "-", info->size, "-", seconds), info->size});
}

Result<std::vector<std::string>> S3Store::List(const std::string &folder) {
  aws::ListQuery query{.prefix = KeyOf(folder.empty() ? "" : folder + "/")};
  query.is_flat = true;
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> keys, aws::ListKeys(*client_, query));
  return NamesOf(std::move(keys), key_prefix_.size());
}

Result<std::vector<std::string>> S3Store::Folders(const std::string &folder) {
  aws::ListQuery query{.prefix = KeyOf(folder.empty() ? "" : folder + "/")};
  query.delimiter = "/";
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> keys, aws::ListKeys(*client_, query));
  std::erase_if(keys, [&](const std::string &key) {
    return !key.ends_with('/') || key.size() <= query.prefix.size();
  });
  for (std::string &key : keys)
    key = key.substr(key_prefix_.size(), key.size() - 1 - key_prefix_.size());
  return keys;
}

std::unique_ptr<Listing> S3Store::Follow(const std::string &folder) {
  return std::make_unique<S3Listing>(client_, key_prefix_, folder);
}

Result<std::vector<ListedFile>> S3Store::ListVersions(const std::string &folder) {
  SMD_ASSIGN_OR_RETURN(std::vector<aws::ListedObject> objects,
                       aws::ListObjects(*client_, {.prefix = KeyOf(folder + "/")}));
  std::vector<ListedFile> files;
  files.reserve(objects.size());
  for (aws::ListedObject &object : objects) {
    if (object.key.ends_with('/')) continue;  // as NamesOf()
    files.push_back({object.key.substr(key_prefix_.size()), std::move(object.etag),
                     object.modified_at, object.size});
  }
  return files;
}

Result<std::unique_ptr<FileWriter>> S3Store::Create(const std::string &name) {
  return std::unique_ptr<FileWriter>(std::make_unique<S3Writer>(client_, KeyOf(name)));
}

Status S3Store::Remove(const std::string &name) { return aws::DeleteObject(*client_, KeyOf(name)); }

Result<std::unique_ptr<Claim>> S3Store::Acquire(const std::string &name) {
  // Private services may have buckets with the same name.
  const std::string &endpoint = client_->Parts().settings.endpoint;
  SMD_ASSIGN_OR_RETURN(const aws::Sha256Digest digest,
                       aws::Sha256(StrCat(endpoint, " ", location_, "/", name, "/", getuid())));
  const std::string file = StrCat("smdebug-", aws::ToHex(digest), ".claim");
  SMD_ASSIGN_OR_RETURN(const auto folder, LocalStore::At(Environment("TMPDIR").value_or("/tmp")));
  auto claim = folder->Acquire(file);
  if (claim.IsOk()) return claim;
  // Recording matters more than protection from a second process.
  client_->Parts().logger.Warning(
      StrCat(location_,
             ": cannot see whether another process records there: ", claim.GetStatus().Message()));
  return std::unique_ptr<Claim>(std::make_unique<NoClaim>());
}

std::unique_ptr<Watcher> S3Store::Watch() { return std::make_unique<S3Watcher>(); }

Result<std::string> S3Store::ReadText(const std::string &name, uint64_t limit) {
  return std::move(aws::GetTexts(*client_, {KeyOf(name)}, limit).front());
}

std::vector<Result<std::string>> S3Store::ReadTexts(std::span<const std::string> names) {
  std::vector<std::string> keys;
  keys.reserve(names.size());
  for (const std::string &name : names) keys.push_back(KeyOf(name));
  return aws::GetTexts(*client_, keys, kTextLimit);
}

std::vector<Status> S3Store::ReadRanges(std::span<const RangeRead> ranges) {
  const std::vector<std::unique_ptr<RangeGroup>> groups = GroupRanges(ranges);
  std::vector<aws::ObjectRange> requests;
  requests.reserve(groups.size());
  for (const auto &group : groups) {
    requests.push_back({KeyOf(group->Name()), group->Begin(), group->Length(), group.get()});
  }
  const std::vector<Status> answers = aws::GetRanges(*client_, requests);
  std::vector<Status> read(ranges.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const size_t index : groups[i]->Indexes()) read[index] = answers[i];
  }
  return read;
}

}  // namespace smdebug::storage
