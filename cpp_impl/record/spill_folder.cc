#include "record/spill_folder.h"

#include <new>
#include <random>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace smdebug::record {
namespace {

constexpr std::string_view kPrefix = "smdebug-";
constexpr std::string_view kClaimEnding = ".lock";

std::string RandomToken() {
  std::random_device random;
  return StrCat(random(), "-", random());
}

Result<std::shared_ptr<storage::Store>> OpenFolder(const std::string &folder) {
  if (folder.find("://") != std::string::npos) {
    return InvalidConfig(StrCat("spill_dir is '", folder, "'; it must be a local folder"));
  }
  return storage::OpenStore(folder);
}

// Removes the files of one hook, if its process no longer holds the claim.
void RemoveIfDead(storage::Store &store, const std::string &claim_name,
                  const std::vector<std::string> &names) {
  const auto claim = store.Acquire(claim_name);
  if (!claim.IsOk() || !*claim) return;
  const std::string_view token =
      std::string_view(claim_name).substr(0, claim_name.size() - kClaimEnding.size());
  for (const std::string &name : names) {
    const bool is_spilled = name.ends_with(".spill") || name.ends_with(".spill.tmp");
    if (!is_spilled || !name.starts_with(StrCat(token, "-"))) continue;
    const Status removed = store.Remove(name);
    (void)removed;  // a file that stays only takes room
  }
}

}  // namespace

SpillFolder::SpillFolder(std::shared_ptr<storage::Store> store, uint64_t capacity)
    : store_(std::move(store)), capacity_(capacity), token_(RandomToken()) {}

Result<std::unique_ptr<SpillFolder>> SpillFolder::Open(const std::string &folder,
                                                       uint64_t capacity) {
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store, OpenFolder(folder));
  std::unique_ptr<SpillFolder> opened(new SpillFolder(std::move(store), capacity));
  opened->AcquireClaim();
  return opened;
}

void SpillFolder::AcquireClaim() {
  auto claim = store_->Acquire(StrCat(kPrefix, token_, kClaimEnding));
  if (claim.IsOk() && *claim) {
    claim_ = *std::move(claim);
  } else {
    // The file of that name may be there without a lock, which would prove this process dead.
    token_ = RandomToken();
  }
}

void SpillFolder::RemoveLeftovers(const std::string &folder) noexcept try {
  const auto store = OpenFolder(folder);
  if (!store.IsOk() || !(*store)->HasExactClaims()) return;
  const auto names = (*store)->List(".");
  if (!names.IsOk()) return;
  for (const std::string &name : *names) {
    if (name.starts_with(StrCat("./", kPrefix)) && name.ends_with(kClaimEnding)) {
      RemoveIfDead(**store, name, *names);
    }
  }
} catch (...) {
  return;
}

SpillFolder::~SpillFolder() {
  for (const std::string &name : parked_) {
    const Status removed = store_->Remove(name);
    (void)removed;  // a file that stays only takes room
  }
}

std::string SpillFolder::Reserve(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (used_ + bytes > capacity_) return "";
  std::string name = StrCat(kPrefix, token_, "-", next_++, ".spill");
  parked_.insert(name);
  used_ += bytes;
  return name;
}

void SpillFolder::Unreserve(const std::string &name, uint64_t bytes) {
  const MutexLock lock(mutex_);
  parked_.erase(name);
  used_ -= bytes;
}

Result<std::string> SpillFolder::Park(const Batch &batch) {
  std::string name = Reserve(batch.bytes);
  if (name.empty()) return name;
  Status written;
  try {
    written = Write(name, batch);
  } catch (const std::bad_alloc &) {
    Unreserve(name, batch.bytes);
    throw;
  }
  if (written.IsOk()) return name;
  Unreserve(name, batch.bytes);
  return written;
}

Status SpillFolder::Write(const std::string &name, const Batch &batch) {
  SMD_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileWriter> file, store_->Create(name));
  SMD_RETURN_IF_ERROR(file->Append(batch.pieces));
  return file->Commit(false);
}

Status SpillFolder::Fetch(const std::string &name, Batch *batch) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::FileReader> file, store_->Open(name));
  const auto bytes = std::make_shared<AlignedBuffer>(batch->bytes);
  SMD_RETURN_IF_ERROR(file->ReadInto(0, bytes->Span()));
  batch->pieces = {Piece{bytes, bytes->Span()}};
  return Forget(name, batch->bytes);
}

Status SpillFolder::Forget(const std::string &name, uint64_t bytes) {
  SMD_RETURN_IF_ERROR(store_->Remove(name));
  Unreserve(name, bytes);
  return Status::Ok();
}

}  // namespace smdebug::record
