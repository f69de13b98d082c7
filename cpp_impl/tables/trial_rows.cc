#include "tables/trial_rows.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace smdebug::tables {
namespace {

// The number of files at a time whose elements are read.
constexpr size_t kFilesOfElements = 8;
// The number of stored rows that are written at a time.
constexpr size_t kStoredRows = 16'384;
// How much damage of a trial is logged.
constexpr size_t kMostTold = 20;

}  // namespace

Result<std::unique_ptr<TrialRows>> TrialRows::Open(std::shared_ptr<const Request> request,
                                                   RowCache *cache, const FoundTrial &trial) {
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store,
                       storage::OpenStore(trial.path, request->store_options, request->logger));
  std::unique_ptr<TrialRows> rows(new TrialRows(std::move(request), trial, std::move(store)));
  SMD_RETURN_IF_ERROR(rows->Begin(cache));
  return rows;
}

Status TrialRows::Read(RowWriters *writers) {
  SMD_ASSIGN_OR_RETURN(const size_t count, CountUnstored());
  return count == 0 ? ReadStored(&writers->of_stored) : ReadFiles(count, &writers->of_steps);
}

Result<size_t> TrialRows::CountUnstored() {
  const size_t most = std::min(at_once_, files_.size() - next_);
  if (!units_) return most;
  for (size_t count = 0; count < most; ++count) {
    SMD_ASSIGN_OR_RETURN(const bool is_stored, units_->IsStored(next_ + count));
    if (is_stored) return count;
  }
  return most;
}

Status TrialRows::ReadStored(StoredWriter *writer) {
  std::vector<StoredPiece> pieces;
  size_t left = std::min(kStoredRows, static_cast<size_t>(request_->batch_rows));
  size_t end = next_;
  while (end < files_.size() && left > 0) {
    SMD_ASSIGN_OR_RETURN(const bool is_stored, units_->IsStored(end));
    if (!is_stored) break;
    size_t rows = 0;
    const size_t rest = units_->AddPiece(end, served_, left, &pieces, &rows);
    left -= rows;
    served_ = rest == 0 ? 0 : served_ + rows;
    if (rest > 0) break;
    ++end;
  }
  writer->Write(trial_.name, pieces);
  if (end > next_) units_->Pass(end - 1);
  next_ = end;
  return Status::Ok();
}

Status TrialRows::ReadFiles(size_t count, RowWriter *writer) {
  const std::span<const StepFile> some = std::span(files_).subspan(next_, count);
  const auto visit = [&](const StepRows &rows) {
    const std::span<const StepRow> written = writer->Write(trial_.name, rows);
    if (units_) units_->Record(static_cast<size_t>(rows.file - files_.data()), rows, written);
    return Status::Ok();
  };
  next_ += count;
  const Status read =
      reader_->Read(some, visit, [this](const Status &damage) { return NoteDamage(damage); });
  if (units_ && read.IsOk()) units_->Pass(next_ - 1);
  return read;
}

Status TrialRows::NoteDamage(const Status &damage) {
  if (units_) units_->DropRecorded();
  if (request_->fails_on_damage) return damage;
  // A record is read for each of its rows.
  if (told_.size() > kMostTold || !told_.emplace(damage.Message()).second) return Status::Ok();
  request_->logger.Warning(
      told_.size() > kMostTold
          ? StrCat(trial_.path, ": more of its files or records cannot be read; skipped")
          : StrCat(damage.Message(), "; skipped"));
  return Status::Ok();
}

Status TrialRows::Begin(RowCache *cache) {
  auto *const versions = dynamic_cast<storage::VersionStore *>(store_.get());
  const bool uses_stored =
      request_->uses_cache && versions != nullptr && StoredUnits::CanServe(*request_);
  std::vector<ListedStep> listed;
  if (uses_stored) {
    SMD_ASSIGN_OR_RETURN(listed, ListStepVersions(*versions, request_->steps));
  } else {
    SMD_ASSIGN_OR_RETURN(files_, ListStepFiles(*store_, request_->steps, request_->workers));
  }
  if (!listed.empty() || !files_.empty()) SMD_RETURN_IF_ERROR(LoadCollections());
  const std::shared_ptr<const config::CollectionSet> collections =
      known_ ? std::shared_ptr<const config::CollectionSet>(known_, &known_->Collections())
             : nullptr;
  const Reads reads = ReadsFor(*request_);
  if (uses_stored) {
    units_ = std::make_unique<StoredUnits>(cache, *request_, store_, reads, collections);
    files_ = units_->Begin(std::move(listed));
  }
  reader_ = std::make_unique<StepRowReader>(
      store_, std::make_shared<TensorNames>(*request_, collections), reads, request_->modes);
  if (request_->table == Table::kScalars) reader_->OnlyScalars();
  at_once_ = reader_->AtOnce();
  if (reads.NeedsElements()) at_once_ = std::min(at_once_, kFilesOfElements);
  return Status::Ok();
}

// Without collections files, as in a trial that is just beginning, there are none.
Status TrialRows::LoadCollections() {
  const bool is_needed = ShowsCollection(*request_) || !request_->collection.empty();
  if (!is_needed) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(analyze::TrialOptions options, analyze::TrialOptions::FromEnvironment());
  options.wait = {};
  options.store = store_;
  options.store_options = request_->store_options;
  options.logger = request_->logger;
  SMD_ASSIGN_OR_RETURN(known_, analyze::Trial::Make(trial_.path, std::move(options)));
  const Status loaded = known_->Load();
  if (loaded.IsOk() || loaded.GetCode() == Code::kMissingCollections) return Status::Ok();
  if (request_->fails_on_damage) return loaded;
  request_->logger.Warning(StrCat(loaded.Message(), "; its tensors are in no collection"));
  return Status::Ok();
}

}  // namespace smdebug::tables
