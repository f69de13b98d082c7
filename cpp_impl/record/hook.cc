#include "record/hook.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/deferral.h"
#include "base/environment.h"
#include "base/strings.h"
#include "config/collection_names.h"
#include "format/paths.h"

namespace smdebug::record {
namespace {

bool Contains(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status IsFinished(const std::string &place) {
  constexpr std::string_view kWhy =
      ": a finished trial is already there; choose another out_dir or remove it";
  return Status(Code::kTrialExists, StrCat(place, kWhy)).With("path", place);
}

PlanDefaults PlanDefaultsOf(const HookOptions &options) {
  PlanDefaults defaults{options.save_config, options.reduction_config, options.include_collections,
                        options.saves_all};
  defaults.included.emplace_back(config::kLossesCollection);
  if (!options.include_regexes.empty()) defaults.included.emplace_back(config::kDefaultCollection);
  defaults.saves_all = defaults.saves_all || Contains(defaults.included, config::kAllCollection);
  return defaults;
}

}  // namespace

Hook::Hook(HookOptions options, std::shared_ptr<storage::Store> store,
           std::shared_ptr<storage::Store> tensorboard_store)
    : options_(std::move(options)),
      store_(std::move(store)),
      is_recording_(!options_.is_dry_run && options_.IncludesWorker()),
      queue_(store_, format::WorkerToFile(options_.worker), options_.queue, *options_.clock,
             options_.logger),
      plan_(collections_, PlanDefaultsOf(options_)),
      open_(std::make_unique<OpenStep>(options_, std::move(tensorboard_store), queue_)) {}

Result<std::shared_ptr<Hook>> Hook::Open(HookOptions options) {
  std::shared_ptr<storage::Store> store = options.store;
  if (!store) {
    if (Trim(options.out_dir).empty()) {
      return InvalidArgument("out_dir is not set; give the folder to record into");
    }
    SMD_ASSIGN_OR_RETURN(
        store, storage::OpenStore(options.out_dir, options.store_options, options.logger));
  }
  if (options.queue.policy == QueuePolicy::kSpill && options.queue.spill_folder.empty()) {
    return InvalidConfig("queue_policy is 'spill' but spill_dir is not set");
  }
  SMD_ASSIGN_OR_RETURN(const bool is_finished, store->Exists(std::string(format::kEndMarker)));
  // Without a collections file, steps that may be there cannot be read.
  SMD_ASSIGN_OR_RETURN(options.queue.is_resumed,
                       store->Exists(format::CollectionsFileName(options.worker)));
  // The first of several workers that ends leaves the marker.  Another one may begin after that.
  const bool may_begin = options.RecordingWorkers() > 1 && !options.queue.is_resumed;
  if (is_finished && !may_begin) return IsFinished(store->Location());
  options.queue.out_dir = std::make_shared<OutDir>(store, format::WorkerToFile(options.worker),
                                                   options.num_workers != 1);
  if (options.writes_rows && options.make_listener) {
    options.queue.listener = options.make_listener(
        [out_dir = options.queue.out_dir](const std::string &name, const std::string &text) {
          return out_dir->PutOptional(name, text);
        });
  }
  std::shared_ptr<storage::Store> tensorboard = options.tensorboard_store;
  if (const std::string folder = options.TensorboardFolder(); !tensorboard && !folder.empty()) {
    SMD_ASSIGN_OR_RETURN(tensorboard,
                         storage::OpenStore(folder, options.store_options, options.logger));
  }
  std::shared_ptr<Hook> hook(
      new Hook(std::move(options), std::move(store), std::move(tensorboard)));
  hook->AddCollections();
  SMD_RETURN_IF_ERROR(hook->RestoreState());
  for (const std::string &regex : hook->options_.include_regexes) {
    SMD_RETURN_IF_ERROR(hook->collections_.GetOrCreate(config::kDefaultCollection)->Include(regex));
  }
  if (hook->options_.saves_all) {
    SMD_RETURN_IF_ERROR(hook->collections_.GetOrCreate(config::kAllCollection)->Include(".*"));
  }
  hook->options_.LogWhatIsNeverSaved();
  return hook;
}

void Hook::AddCollections() {
  for (config::CollectionPtr &collection : config::CollectionSet::Defaults()) {
    const bool is_basic = collection->Name() == config::kDefaultCollection ||
                          collection->Name() == config::kAllCollection;
    if (is_basic || options_.has_builtin_collections) collections_.Add(std::move(collection));
  }
  for (const config::CollectionPtr &collection : options_.collections) {
    collections_.Add(collection);
  }
}

Status Hook::RestoreState() {
  std::optional<std::string> folder = options_.checkpoint_dir;
  if (!folder) {
    SMD_ASSIGN_OR_RETURN(folder, StateStore::ConfiguredFolder());
  }
  if (!folder) return Status::Ok();
  const DeferringLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(state_store_, StateStore::Open(*folder));
  const std::optional<RunState> state = state_store_->Latest();
  if (!state) return Status::Ok();
  training_run_ = state->training_run + 1;
  last_saved_ = state->last_saved;
  numbers_.Restore(*state);
  options_.logger.Info(
      StrCat(store_->Location(), ": continues after global step ", state->last_seen));
  return Status::Ok();
}

Status Hook::NoteState() {
  if (!state_store_) return Status::Ok();
  RunState state{training_run_, last_saved_, -1, {}};
  numbers_.Fill(&state);
  return state_store_->Update(state, options_.queue.is_durable);
}

Hook::~Hook() {
  {
    const DeferringLock lock(mutex_);
    try {
      const Status completed = CompleteAll();
      (void)completed;
    } catch (const std::bad_alloc &) {  // these steps are dropped
    }
  }
  const Status stopped = queue_.Stop(Deadline::After(*options_.clock, options_.close_time));
  (void)stopped;  // there is no caller to report it to
}

Status Hook::AcquireClaim() {
  if (!is_recording_) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const bool may_record, options_.queue.out_dir->Acquire());
  if (!may_record) {
    is_recording_ = false;
    if (options_.queue.out_dir->IsLost()) return Status::Ok();  // which was reported
    options_.logger.Warning(
        StrCat(store_->Location(),
               ": another hook, of this or of another process, already records "
               "here; this one does not. Close the other one first; for several "
               "workers set num_workers and include_workers"));
  }
  return Status::Ok();
}

// ---- steps ---------------------------------------------------------------------------------

Status Hook::SetMode(Mode mode) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  numbers_.SetMode(mode);
  return Status::Ok();
}

Result<int64_t> Hook::BeginStep() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  if (is_closed_) return WrongState("the hook is closed; no step can begin");
  if (open_->IsOpen()) {
    return WrongState(StrCat("step ", open_->Position().global_step, " is open; end it first"));
  }
  const StepPosition position = numbers_.Next();
  try {
    SMD_RETURN_IF_ERROR(OpenAt(position));
  } catch (const std::bad_alloc &) {
    AbortStep();
    throw;
  }
  numbers_.Advance(position);
  return position.global_step;
}

Status Hook::OpenAt(const StepPosition &position) {
  bool saves_anything = false;
  {
    const MutexLock lock(plan_mutex_);
    SMD_RETURN_IF_ERROR(plan_.Begin(position.mode, position.mode_step));
    saves_anything = plan_.SavesAnything();
  }
  // The step counts even if this fails: training continues.
  if (const Status noted = NoteState(); !noted.IsOk()) options_.logger.Error(noted.Message());
  open_->Begin(position);
  if (saves_anything && MayRecord()) StartRecording();
  if (MayRecord()) {
    rules_.BeginStep(
        {position.global_step, position.mode, position.mode_step, options_.clock->WallSeconds()});
  }
  Publish();
  return Status::Ok();
}

void Hook::StartRecording() {
  if (const Status claimed = AcquireClaim(); !claimed.IsOk()) {
    options_.logger.Error(claimed.Message());
  }
  open_->Record(is_recording_);
}

void Hook::Publish() noexcept {
  const uint64_t open = open_->IsOpen() ? kOpen : 0;
  const uint64_t records = open_->Records() ? kRecords : 0;
  const uint64_t evaluates = rules_.Evaluates() ? kEvaluates : 0;
  const uint64_t changes = (phase_ & ~(kOneMore - 1)) + kOneMore;
  phase_ = changes | open | records | evaluates;
}

Status Hook::AddToStep(const std::vector<std::string> &collections) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  if (!open_->IsOpen()) return WrongState("no step is open");
  bool saves_anything = false;
  {
    const MutexLock plan_lock(plan_mutex_);
    plan_.Add(collections);
    saves_anything = plan_.SavesAnything();
  }
  if (!open_->Records() && saves_anything && MayRecord()) StartRecording();
  Publish();
  return Status::Ok();
}

Status Hook::EndStep() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  if (!open_->IsOpen()) return WrongState("no step is open");
  const Status status = CloseStep();
  return status.IsOk() ? EarlyError() : status;
}

void Hook::WarnOfUnknownCollections() {
  const MutexLock lock(plan_mutex_);
  for (const std::string &sentence : plan_.Unknown()) options_.logger.Warning(sentence);
}

Status Hook::CloseStep() try {
  if (!std::exchange(has_closed_a_step_, true)) WarnOfUnknownCollections();
  const StepPosition position = open_->Position();
  unused_.reset();
  if (!open_->Records()) unused_ = position;
  if (open_->Expected().Missing() > 0 || !late_.IsEmpty()) return Postpone();
  Status status;
  if (open_->Records()) status = WriteStep(*open_, &pending_);
  open_->End();
  // Pending values are evaluated as they are written.
  rules_.EndStep(position.global_step);
  Publish();
  return status;
} catch (const std::bad_alloc &) {
  open_->Drop();
  AbortStep();
  throw;
}

Status Hook::WriteStep(OpenStep &step, PendingValues *values) {
  Status status = WritePending(step, values);
  if (!step.IsWritten()) return status;
  // Without it the step could not be read, nor its parts put together.
  if (collections_text_.empty() || MetaVersion() != written_meta_) {
    PutCollections(step.ToQueue());
  }
  Status sealed = step.Seal();
  if (!step.IsDropped()) last_saved_ = step.Position().global_step;
  KeepFirst(&status, std::move(sealed));
  return status;
}

Status Hook::DiscardStep() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  if (!open_->IsOpen()) return WrongState("no step is open");
  // The number stays used: pending values must not make a part of the step visible under it.
  unused_.reset();
  const int64_t step = open_->Position().global_step;
  open_->Discard();
  open_->End();
  try {
    rules_.DiscardStep(step);
  } catch (const std::bad_alloc &) {
    AbortStep();
    throw;
  }
  Publish();
  return Status::Ok();
}

void Hook::AbortStep() noexcept {
  const int64_t step = open_->IsOpen() ? open_->Position().global_step : -1;
  open_->End();
  rules_.AbortStep(step);
  Publish();
}

// ---- tensors -------------------------------------------------------------------------------

Result<const SavedParts *> Hook::FindToSave(std::string_view tensor) {
  if (tensor::ParseReductionTensorName(tensor)) {
    return InvalidArgument(StrCat(
        "'", tensor, "': this is the name under which a reduction is saved; choose another"));
  }
  const MutexLock lock(plan_mutex_);
  return plan_.FindToSave(tensor);
}

bool Hook::Wants(std::string_view tensor) {
  const uint64_t phase = phase_;
  if ((phase & (kRecords | kEvaluates)) == 0 || !mark_.IsSameProcess()) return false;
  if (rules_.Wants(tensor)) return true;
  if ((phase & kRecords) == 0) return false;
  const MutexLock lock(plan_mutex_);
  const auto parts = plan_.Find(tensor);
  return parts.IsOk() && *parts != nullptr;
}

Result<Hook::Selected> Hook::Select(std::string_view tensor) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  Selected selected{phase_};
  if ((selected.phase & kOpen) == 0) {
    const DeferringLock lock(mutex_);
    const char *why = is_closed_ ? "the hook is closed" : "no step is open; begin one first";
    return WrongState(StrCat("'", tensor, "': ", why));
  }
  if ((selected.phase & kRecords) != 0) {
    SMD_ASSIGN_OR_RETURN(selected.parts, FindToSave(tensor));
  }
  return selected;
}

Status Hook::SelectAgain(std::string_view tensor, Selected *selected) {
  if (phase_ == selected->phase) return Status::Ok();
  if (!open_->IsOpen()) return WrongState(StrCat("'", tensor, "': the step was ended meanwhile"));
  selected->parts = nullptr;
  if (open_->Records()) {
    SMD_ASSIGN_OR_RETURN(selected->parts, FindToSave(tensor));
  }
  return Status::Ok();
}

Status Hook::Save(std::string_view tensor, const tensor::View &view, Owner *owner) {
  SMD_ASSIGN_OR_RETURN(Selected selected, Select(tensor));
  if (!selected.IsNeeded()) return EarlyError();
  const DeferringLock lock(mutex_);
  SMD_RETURN_IF_ERROR(SelectAgain(tensor, &selected));
  rules_.Observe(open_->Position().global_step, tensor, view);
  if (selected.parts != nullptr) {
    SMD_RETURN_IF_ERROR(open_->Save(tensor, view, *selected.parts, owner));
  }
  return EarlyError();
}

Status Hook::SaveStatistics(std::string_view tensor, const tensor::GivenStatistics &given) {
  SMD_ASSIGN_OR_RETURN(Selected selected, Select(tensor));
  if (!selected.IsNeeded()) return EarlyError();
  const DeferringLock lock(mutex_);
  SMD_RETURN_IF_ERROR(SelectAgain(tensor, &selected));
  if (selected.parts != nullptr) {
    SMD_RETURN_IF_ERROR(open_->SaveStatistics(tensor, given, *selected.parts));
  }
  rules_.Observe(open_->Position().global_step, tensor, given);
  return EarlyError();
}

Status Hook::EarlyError() {
  return options_.queue.reports_late ? Status::Ok() : queue_.TakeError();
}

Status Hook::SaveCustom(std::string_view tensor, const tensor::View &view,
                        const std::vector<std::string> &collections) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  SMD_ASSIGN_OR_RETURN(KeptTensor kept, KeptTensor::Of(view));
  const DeferringLock lock(mutex_);
  if (is_closed_) return WrongState(StrCat("'", tensor, "': the hook is closed"));
  if (!is_recording_) return Status::Ok();  // no step would ever take it
  std::vector<config::CollectionPtr> members;
  members.reserve(collections.size());
  for (const std::string &name : collections) {
    members.push_back(collections_.GetOrCreate(name));
  }
  if (members.empty()) members.push_back(collections_.GetOrCreate(config::kDefaultCollection));
  for (const config::CollectionPtr &collection : members) collection->NoteMatch(tensor);
  pending_.customs.insert_or_assign(std::string(tensor),
                                    PendingValues::Custom{std::move(kept), std::move(members)});
  return EarlyError();
}

Status Hook::SaveScalar(std::string_view name, const tensor::View &view, double timestamp) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (view.ElementCount() != 1) {
    return InvalidArgument(
        StrCat("scalar '", name, "' has ", view.ElementCount(), " elements; it must have one"));
  }
  if (view.dtype == tensor::DType::kString) {
    return InvalidArgument(StrCat("scalar '", name, "' is a text; it must be a number"));
  }
  SMD_ASSIGN_OR_RETURN(KeptTensor kept, KeptTensor::Of(view));
  const DeferringLock lock(mutex_);
  if (is_closed_) return WrongState(StrCat("scalar '", name, "': the hook is closed"));
  if (!is_recording_) return Status::Ok();  // no step would ever take it
  const double at = timestamp > 0 ? timestamp : options_.clock->WallSeconds();
  pending_.scalars.push_back({StrCat("scalar/", name), std::move(kept), at});
  return Status::Ok();
}

void Hook::SelectCustoms(PendingValues *values) {
  const MutexLock lock(plan_mutex_);
  for (auto &[name, custom] : values->customs) {
    if (!custom.parts) custom.parts = plan_.FindCustom(custom.collections);
  }
}

Status Hook::WritePending(OpenStep &step, PendingValues *values) {
  if (step.IsDropped()) return Status::Ok();  // they wait for a step that is recorded
  const int64_t number = step.Position().global_step;
  Status first;
  SelectCustoms(values);
  for (const auto &[name, custom] : values->customs) {
    const tensor::View view = custom.tensor.AsView();
    if (custom.parts->raw) rules_.Observe(number, name, view);
    KeepFirst(&first, step.Save(name, view, *custom.parts, nullptr));
  }
  for (const PendingValues::Scalar &scalar : values->scalars) {
    const tensor::View view = scalar.tensor.AsView();
    KeepFirst(&first, step.SaveScalar(scalar.name, view, scalar.timestamp));
    rules_.Observe(number, scalar.name, view);
  }
  values->Clear();
  return first;
}

// ---- attached rules ------------------------------------------------------------------------

Status Hook::Attach(rules::Evaluation evaluation) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (const std::string *rule = evaluation.RuleThatReads()) {
    return InvalidArgument(StrCat("rule '", *rule,
                                  "' is a function: it reads a trial, which a running job does not "
                                  "have; attach a rule set of built-in rules only"));
  }
  const DeferringLock lock(mutex_);
  if (open_->IsOpen()) return WrongState("a step is open; attach the rule set between steps");
  rules_.Attach(std::make_unique<LiveRules>(std::move(evaluation), collections_, options_.worker));
  return Status::Ok();
}

// ---- collections and the end ---------------------------------------------------------------

Status Hook::SetPlacement(std::string_view tensor, config::Placement placement) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (const Status checked = placement.Check(); !checked.IsOk()) {
    return InvalidArgument(StrCat("placement of '", tensor, "': ", checked.Message()));
  }
  placements_.Set(tensor, std::move(placement));
  return Status::Ok();
}

Status Hook::SetMetadata(std::string_view key, std::string_view value) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  return metadata_.Set(key, value);
}

std::string Hook::CollectionsText() {
  const MutexLock lock(plan_mutex_);
  return config::CollectionsToJson(plan_.FilledIn(), options_.RecordingWorkers(),
                                   placements_.List(), metadata_.List(),
                                   is_closed_ && options_.RecordingWorkers() > 1);
}

void Hook::PutCollections(const std::shared_ptr<Step> &before) {
  written_meta_ = MetaVersion();
  std::string text = CollectionsText();
  queue_.PutFileBefore(before, format::CollectionsFileName(options_.worker), text);
  collections_text_ = std::move(text);
}

Status Hook::ExportCollections() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  {
    const DeferringLock lock(mutex_);
    if (is_closed_) return WrongState("the hook is closed");
    SMD_RETURN_IF_ERROR(AcquireClaim());
    if (!is_recording_) return Status::Ok();
    // By the queue, which may be about to write the same file.
    PutCollections();
  }
  SMD_RETURN_IF_ERROR(queue_.Flush(Deadline::After(*options_.clock, options_.close_time)));
  return queue_.TakeError();
}

Status Hook::Flush(Deadline deadline) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  {
    const DeferringLock lock(mutex_);
    if (is_closed_) return WrongState("the hook is closed");
  }
  SMD_RETURN_IF_ERROR(queue_.Flush(deadline));
  return queue_.TakeError();
}

// Values that no step has recorded go into the last one, or, if that recorded something or was
// discarded, into one more.
Status Hook::WriteLeftovers() {
  if (pending_.IsEmpty() || !is_recording_) return Status::Ok();
  const StepPosition position = unused_ ? *unused_ : numbers_.Next();
  if (!unused_) numbers_.Advance(position);
  open_->Begin(position);
  StartRecording();
  return CloseStep();
}

Status Hook::WriteTheEnd() {
  Status first = open_->IsOpen() ? CloseStep() : Status::Ok();
  KeepFirst(&first, CompleteAll());
  // A process that saved nothing has no claim so far, and must not end another's trial.
  KeepFirst(&first, AcquireClaim());
  KeepFirst(&first, WriteLeftovers());
  rules_.EndJob();
  if (is_recording_ && CollectionsText() != collections_text_) PutCollections();
  // The service ends the job's trial by itself.
  if (is_recording_ && !Environment("TRAINING_JOB_NAME")) {
    queue_.PutFile(std::string(format::kEndMarker), metadata_.Find(config::kFailureKey));
  }
  return first;
}

Status Hook::Close() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const Closing::Turn turn(closing_);
  if (!turn.IsFirst()) return Status::Ok();
  Status written;
  {
    const DeferringLock lock(mutex_);
    is_closed_ = true;
    written = WriteTheEnd();
  }
  const Status stopped = queue_.Stop(Deadline::After(*options_.clock, options_.close_time));
  options_.queue.out_dir->Release();
  const Status failed = queue_.TakeError();
  if (!written.IsOk()) return written;
  return failed.IsOk() ? stopped : failed;
}

}  // namespace smdebug::record
