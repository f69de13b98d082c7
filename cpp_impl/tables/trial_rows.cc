#include "tables/trial_rows.h"

#include <algorithm>

#include "base/strings.h"

namespace smdebug::tables {
namespace {

// The number of files at a time whose elements are read.
constexpr size_t kFilesOfElements = 8;

}  // namespace

Result<std::unique_ptr<TrialRows>> TrialRows::Open(std::shared_ptr<const Request> request,
                                                   const FoundTrial &trial) {
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store,
                       storage::OpenStore(trial.path, request->store_options, request->logger));
  std::unique_ptr<TrialRows> rows(new TrialRows(std::move(request), trial, std::move(store)));
  SMD_RETURN_IF_ERROR(rows->Begin());
  return rows;
}

Status TrialRows::Read(RowWriter *writer) {
  const size_t count = std::min(at_once_, files_.size() - next_);
  const std::span<const StepFile> some = std::span(files_).subspan(next_, count);
  next_ += count;
  return reader_->Read(
      some,
      [&](const StepRows &rows) {
        writer->Write(trial_.name, rows);
        return Status::Ok();
      },
      [this](const Status &damage) {
        if (request_->fails_on_damage) return damage;
        request_->logger.Warning(StrCat(damage.Message(), "; skipped"));
        return Status::Ok();
      });
}

Status TrialRows::Begin() {
  SMD_ASSIGN_OR_RETURN(files_, ListStepFiles(*store_, request_->steps, request_->workers));
  SMD_RETURN_IF_ERROR(LoadCollections());
  const std::shared_ptr<const config::CollectionSet> collections =
      known_ ? std::shared_ptr<const config::CollectionSet>(known_, &known_->Collections())
             : nullptr;
  reader_ =
      std::make_unique<StepRowReader>(store_, std::make_shared<TensorNames>(*request_, collections),
                                      ReadsFor(*request_), request_->modes);
  if (request_->table == Table::kScalars) reader_->OnlyScalars();
  return Status::Ok();
}

// Without collections files, as in a trial that is just beginning, there are none.
Status TrialRows::LoadCollections() {
  const bool is_needed = ShowsCollection(*request_) || !request_->collection.empty();
  if (files_.empty() || !is_needed) return Status::Ok();
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
