#include "record/out_dir.h"

#include <new>
#include <utility>

#include "base/strings.h"
#include "format/paths.h"

namespace smdebug::record {
namespace {

// Returns true if a hook of this worker creates files with such a name.
bool IsFileOf(const std::string &worker, std::string_view name) {
  if (const auto file = format::ParseStepFileName(name)) {
    return format::WorkerToFile(file->worker) == worker &&
           (name == format::EventFileName(file->step, worker) ||
            name == format::OtherEventFileName(file->step, worker) ||
            name == format::IndexFileName(file->step, worker));
  }
  if (const auto file = format::ParseRowFileName(name)) {
    return name == format::RowFileName(file->step, worker);
  }
  return name == format::CollectionsFileName(worker);
}

// Whether a hook of any worker gives its files such a name.
bool IsFileOfAny(std::string_view name) {
  auto file = format::ParseStepFileName(name);
  if (!file) file = format::ParseRowFileName(name);
  const auto worker = file ? file->worker : format::ParseCollectionsFileName(name);
  return worker && IsFileOf(format::WorkerToFile(*worker), name);
}

// Whether a hook gives its files for TensorBoard such a name: <step>_<pid>_<host>.tfevents.
bool IsFileForTensorboard(std::string_view name) {
  const auto step = format::ParseStepFileName(name);
  if (!step || !name.ends_with(".tfevents")) return false;
  const size_t digits = step->worker.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && step->worker[digits] == '_';
}

}  // namespace

Result<bool> OutDir::Acquire() {
  if (is_lost_) return false;
  if (is_acquired_) return true;
  if (!is_shared_) {
    SMD_ASSIGN_OR_RETURN(std::unique_ptr<storage::Claim> claim,
                         store_->Acquire(std::string(format::kClaimFile)));
    if (!claim) return false;
    const MutexLock lock(claim_mutex_);
    claim_ = std::move(claim);
  }
  is_acquired_ = true;
  return true;
}

void OutDir::Release() {
  std::unique_ptr<storage::Claim> claim;
  const MutexLock lock(claim_mutex_);
  claim.swap(claim_);
  is_acquired_ = false;
}

void OutDir::Sweep() noexcept try {
  const MutexLock lock(mutex_);
  // Without the claim, another process may be writing these files.
  if (!is_acquired_ || std::exchange(is_swept_, true)) return;
  using Leftover = storage::Store::Leftover;
  const auto judge = [this](std::string_view name) {
    if (IsFileOf(worker_, name)) return Leftover::kRemoveUnlessAlive;
    // Without the claim, the other workers of this job may be at work.
    if (is_shared_) return Leftover::kKeep;
    const bool is_known =
        name.starts_with("tensorboard/") ? IsFileForTensorboard(name) : IsFileOfAny(name);
    return is_known ? Leftover::kRemoveIfDead : Leftover::kKeep;
  };
  for (const std::string_view folder : {"events", "index", "collections", "rows", "tensorboard"}) {
    const Status swept = store_->RemoveLeftovers(std::string(folder), judge);
    if (!swept.IsOk()) return;  // leftovers take room and do no other harm
  }
} catch (const std::bad_alloc &) {
  return;
}

Status OutDir::Put(const std::string &name, const std::string &text, bool is_durable) {
  if (is_lost_) return Status::Ok();
  if (name == format::kEndMarker) return PutEndMarker(text, is_durable);
  SMD_RETURN_IF_ERROR(store_->WriteText(name, text, is_durable));
  if (name != format::CollectionsFileName(worker_)) return Status::Ok();
  const MutexLock lock(mutex_);
  collections_ = text;
  const auto identity = store_->IdentityOf(name);
  identity_ = identity.IsOk() ? *identity : std::nullopt;
  return Status::Ok();
}

Status OutDir::PutEndMarker(const std::string &text, bool is_durable) {
  const std::string name(format::kEndMarker);
  const bool keeps = is_shared_ && text.empty();
  if (keeps) {
    SMD_ASSIGN_OR_RETURN(const bool is_there, store_->Exists(name));
    if (is_there) return Status::Ok();
  }
  // Workers close at once, above all when they fail.
  using Older = storage::Store::Older;
  return store_->WriteSharedText(name, text, worker_, keeps ? Older::kKeep : Older::kReplace,
                                 is_durable);
}

Status OutDir::CheckStep(int64_t step, const std::string &event_file) {
  if (!is_lost_) {
    SMD_ASSIGN_OR_RETURN(const auto events, store_->IdentityOf(event_file));
    if (events) return Status::Ok();
  }
  return {Code::kIo, StrCat("step ", step, " is not recorded: its event file in ",
                            store_->Location(), " was removed before the step was complete")};
}

Status OutDir::Check(bool is_durable) {
  const MutexLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(const bool is_intact, IsIntact());
  return is_intact ? Status::Ok() : Recover(is_durable);
}

Result<bool> OutDir::IsIntact() {
  if (!identity_) return true;
  SMD_ASSIGN_OR_RETURN(const std::optional<storage::FileIdentity> now,
                       store_->IdentityOf(format::CollectionsFileName(worker_)));
  return now == identity_;
}

Status OutDir::PutOptional(const std::string &name, const std::string &text) {
  const MutexLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(const bool is_intact, IsIntact());
  return is_intact && !is_lost_ ? store_->WriteText(name, text, false) : Status::Ok();
}

Status OutDir::Recover(bool is_durable) {
  const std::string what =
      StrCat(store_->Location(),
             ": the folder, or files in it, were removed, renamed or replaced while the job "
             "recorded into it; steps recorded before are no longer there");
  const auto failed = [&](std::string_view then) {
    return Status(Code::kIo, StrCat(what, then)).With("path", store_->Location());
  };
  Release();  // first, for the claim's file may still be ours
  SMD_ASSIGN_OR_RETURN(const bool is_ours, Acquire());
  if (!is_ours) {
    is_lost_ = true;
    return failed(
        ". Another process records there now, so recording stops; give each job an out_dir of its "
        "own");
  }
  const std::string name = format::CollectionsFileName(worker_);
  SMD_RETURN_IF_ERROR(store_->WriteText(name, collections_, is_durable));
  SMD_ASSIGN_OR_RETURN(identity_, store_->IdentityOf(name));
  return failed(". Recording continues there; leave out_dir alone until the job has ended");
}

}  // namespace smdebug::record
