#include "record/hook.h"

#include <algorithm>
#include <new>

#include "base/environment.h"
#include "base/strings.h"
#include "config/collection_names.h"
#include "format/paths.h"
#include "tensor/statistics.h"

namespace smdebug::record {
namespace {

constexpr std::string_view kOnlyWorker = "worker_0";

bool Contains(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

PlanDefaults PlanDefaultsOf(const HookOptions &options) {
  PlanDefaults defaults{options.save_config, options.reduction_config, options.include_collections,
                        options.saves_all};
  defaults.included.emplace_back(config::kLossesCollection);
  if (!options.include_regexes.empty()) defaults.included.emplace_back(config::kDefaultCollection);
  defaults.saves_all = defaults.saves_all || Contains(defaults.included, config::kAllCollection);
  return defaults;
}

// The original's reader does not know uint64, so sums and products are saved as the
// double nearest to them.
tensor::Value ReadableByAll(tensor::Value value, tensor::ReductionKind kind) {
  const bool is_total = kind == tensor::ReductionKind::kSum || kind == tensor::ReductionKind::kProd;
  if (!is_total || value.dtype != tensor::DType::kUInt64) return value;
  const auto element = *reinterpret_cast<const uint64_t *>(value.data.get());
  return tensor::Value::Scalar(tensor::DType::kFloat64, static_cast<double>(element));
}

// Gives the step up unless it is told that all went well: a record cut off by want of
// memory would shift all that follow it.
class StepGuard {
 public:
  StepGuard(WriteQueue &queue, Step &step) : queue_(queue), step_(&step) {}
  ~StepGuard() {
    if (step_ != nullptr) queue_.GiveUp(*step_);
  }
  StepGuard(const StepGuard &) = delete;
  StepGuard &operator=(const StepGuard &) = delete;
  void Release() { step_ = nullptr; }

 private:
  WriteQueue &queue_;
  Step *step_;
};

}  // namespace

Hook::Hook(HookOptions options, std::shared_ptr<storage::Store> store,
           std::shared_ptr<storage::Store> tensorboard_store)
    : options_(std::move(options)),
      store_(std::move(store)),
      tensorboard_store_(std::move(tensorboard_store)),
      is_recording_(!options_.is_dry_run &&
                    (options_.includes_all_workers || options_.worker == kOnlyWorker)),
      plan_(collections_, PlanDefaultsOf(options_)),
      queue_(store_, format::WorkerToFile(options_.worker), options_.queue, *options_.clock,
             options_.logger),
      builder_([this](Batch batch)
                   SMD_REQUIRES(mutex_) { return queue_.Push(step_, std::move(batch)); }) {}

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
  if (is_finished) {
    return Status(
               Code::kTrialExists,
               StrCat(store->Location(),
                      ": a finished trial is already there; choose another out_dir or remove it"))
        .With("path", store->Location());
  }
  // Without a collections file nobody reads the steps that may be there.
  SMD_ASSIGN_OR_RETURN(options.queue.is_resumed,
                       store->Exists(format::CollectionsFileName(options.worker)));
  std::shared_ptr<storage::Store> tensorboard = options.tensorboard_store;
  if (const std::string folder = options.TensorboardFolder(); !tensorboard && !folder.empty()) {
    SMD_ASSIGN_OR_RETURN(tensorboard,
                         storage::OpenStore(folder, options.store_options, options.logger));
  }
  std::shared_ptr<Hook> hook(
      new Hook(std::move(options), std::move(store), std::move(tensorboard)));
  hook->AddCollections();
  SMD_RETURN_IF_ERROR(hook->TakeUpState());
  for (const std::string &regex : hook->options_.include_regexes) {
    SMD_RETURN_IF_ERROR(hook->collections_.GetOrCreate(config::kDefaultCollection)->Include(regex));
  }
  if (hook->options_.saves_all) {
    SMD_RETURN_IF_ERROR(hook->collections_.GetOrCreate(config::kAllCollection)->Include(".*"));
  }
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

Status Hook::TakeUpState() {
  std::optional<std::string> folder = options_.checkpoint_dir;
  if (!folder) {
    SMD_ASSIGN_OR_RETURN(folder, StateStore::ConfiguredFolder());
  }
  if (!folder) return Status::Ok();
  const MutexLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(state_store_, StateStore::Open(*folder));
  const std::optional<RunState> state = state_store_->Latest();
  if (!state) return Status::Ok();
  training_run_ = state->training_run + 1;
  last_saved_ = state->last_saved;
  steps_.fill(state->last_seen);
  for (const auto &[mode, step] : state->mode_steps) StepOf(mode) = step;
  StepOf(Mode::kGlobal) = state->last_seen;
  options_.logger.Info(
      StrCat(store_->Location(), ": goes on after global step ", state->last_seen));
  return Status::Ok();
}

Status Hook::NoteState() {
  if (!state_store_) return Status::Ok();
  RunState state{training_run_, last_saved_, StepOf(Mode::kGlobal), {}};
  for (const Mode mode : kModes) {
    if (StepOf(mode) != -1) state.mode_steps[mode] = StepOf(mode);
  }
  return state_store_->Update(state, options_.queue.is_durable);
}

Hook::~Hook() {
  const Status stopped = queue_.Stop(Deadline::After(*options_.clock, options_.close_time));
  (void)stopped;  // a hook that was not closed has nobody to tell
}

Status Hook::SetMode(Mode mode) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const MutexLock lock(mutex_);
  mode_ = mode;
  return Status::Ok();
}

Mode Hook::GetMode() const {
  const MutexLock lock(mutex_);
  return mode_;
}

int64_t Hook::LastStep(Mode mode) const {
  const MutexLock lock(mutex_);
  return steps_[ModeIndex(mode)];
}

Status Hook::AcquireClaim() {
  if (claim_ || !is_recording_ || options_.num_workers != 1) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(claim_, store_->Acquire(std::string(format::kClaimFile)));
  if (!claim_) {
    is_recording_ = false;
    options_.logger.Warning(StrCat(store_->Location(),
                                   ": another process already records here; this one does not. "
                                   "For several workers set num_workers and include_workers"));
  }
  return Status::Ok();
}

Result<int64_t> Hook::BeginStep() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const MutexLock lock(mutex_);
  if (is_closed_) return WrongState("the hook is closed; no step can begin");
  if (is_step_open_) {
    return WrongState(StrCat("step ", StepOf(Mode::kGlobal), " is open; end it first"));
  }
  const auto steps_before = steps_;
  try {
    return OpenStep();
  } catch (const std::bad_alloc &) {
    steps_ = steps_before;
    is_step_open_ = false;
    saves_now_ = false;
    watches_now_ = false;
    throw;
  }
}

Result<int64_t> Hook::OpenStep() {
  const int64_t global_step = StepOf(Mode::kGlobal) + 1;
  const int64_t mode_step = StepOf(mode_) + 1;
  SMD_RETURN_IF_ERROR(plan_.Begin(mode_, mode_step));
  const Status noted = NoteState();
  StepOf(mode_) = mode_step;
  StepOf(Mode::kGlobal) = global_step;
  last_mode_ = mode_;
  is_step_open_ = true;
  if (plan_.SavesAnything() && (is_recording_ || options_.is_dry_run)) StartSaving(mode_);
  if (live_rules_ && (is_recording_ || options_.is_dry_run)) {
    watches_now_ =
        live_rules_->BeginStep({global_step, mode_, mode_step, options_.clock->WallSeconds()});
  }
  // The step counts even where its surroundings failed: training goes on.
  if (!noted.IsOk()) options_.logger.Error(noted.Message());
  return global_step;
}

void Hook::StartSaving(Mode mode) {
  if (const Status claimed = AcquireClaim(); !claimed.IsOk()) {
    options_.logger.Error(claimed.Message());
  }
  builder_.TakeRest();  // of a step that ended for want of memory
  step_ = std::make_shared<Step>();
  step_->global_step = StepOf(Mode::kGlobal);
  step_->mode = mode;
  step_->mode_step = StepOf(mode);
  if (tensorboard_store_) tensorboard_.emplace(mode, step_->global_step);
  saves_now_ = true;
}

Status Hook::EndStep() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const MutexLock lock(mutex_);
  if (!is_step_open_) return WrongState("no step is open");
  const Status status = CloseStep();
  return status.IsOk() ? EarlyError() : status;
}

Status Hook::AddToStep(const std::vector<std::string> &collections) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const MutexLock lock(mutex_);
  if (!is_step_open_) return WrongState("no step is open");
  plan_.Add(collections);
  if (!saves_now_ && plan_.SavesAnything() && (is_recording_ || options_.is_dry_run)) {
    StartSaving(*last_mode_);
  }
  return Status::Ok();
}

Status Hook::CloseStep() {
  is_step_open_ = false;
  Status status = saves_now_.exchange(false) ? CloseSavedStep() : Status::Ok();
  // What was kept for the step is shown to the rules as it is written.
  if (watches_now_.exchange(false)) {
    live_rules_->EndStep();
  } else if (live_rules_) {
    live_rules_->PassStep();
  }
  return status;
}

Status Hook::CloseSavedStep() {
  const std::shared_ptr<Step> step = step_;
  StepGuard guard(queue_, *step);
  Status status = WriteKept();
  Batch rest = builder_.TakeRest();
  step_.reset();
  if (!is_recording_) {
    guard.Release();
    return status;
  }
  // Without it the step could not be read.
  if (collections_text_.empty()) PutCollections(step);
  const Status sealed = queue_.Seal(step, std::move(rest));
  guard.Release();
  if (!step->is_given_up) {
    last_saved_ = step->global_step;
    if (tensorboard_ && !tensorboard_->IsEmpty()) {
      queue_.Offer(tensorboard_store_, tensorboard_->FileName(), tensorboard_->Take());
    }
  }
  return status.IsOk() ? sealed : status;
}

Status Hook::EarlyError() {
  return options_.queue.reports_late ? Status::Ok() : queue_.TakeError();
}

bool Hook::Wants(std::string_view tensor) {
  if (!SavesStep() || !mark_.IsSameProcess()) return false;
  const MutexLock lock(mutex_);
  if (watches_now_ && live_rules_->Wants(tensor)) return true;
  if (!saves_now_) return false;
  const auto wanted = plan_.Find(tensor);
  return wanted.IsOk() && *wanted != nullptr;
}

Status Hook::Save(std::string_view tensor, const tensor::View &view,
                  std::shared_ptr<const void> owner) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (!is_step_open_) return WrongState(StrCat("'", tensor, "': no step is open; begin one first"));
  if (SavesStep()) {
    const MutexLock lock(mutex_);
    if (!SavesStep()) return WrongState(StrCat("'", tensor, "': the step was ended meanwhile"));
    if (watches_now_) live_rules_->Observe(tensor, view);
    const Wanted *wanted = nullptr;
    if (saves_now_) {
      SMD_ASSIGN_OR_RETURN(wanted, plan_.Find(tensor));
    }
    if (wanted != nullptr) SMD_RETURN_IF_ERROR(Write(tensor, view, *wanted, std::move(owner)));
  }
  return EarlyError();
}

void Hook::GiveUpStep() {
  if (!mark_.IsSameProcess()) return;
  const MutexLock lock(mutex_);
  if (step_) queue_.GiveUp(*step_);
}

format::EventContext Hook::ContextAt(double wall_time) const {
  return {step_->global_step, step_->mode, step_->mode_step, wall_time};
}

Status Hook::Write(std::string_view name, const tensor::View &view, const Wanted &wanted,
                   std::shared_ptr<const void> owner) {
  if (!is_recording_ || step_->is_given_up) return Status::Ok();
  StepGuard guard(queue_, *step_);
  Status status = WriteWanted(name, view, wanted, std::move(owner));
  guard.Release();
  return status;
}

Status Hook::WriteWanted(std::string_view name, const tensor::View &view, const Wanted &wanted,
                         std::shared_ptr<const void> owner) {
  if (wanted.shape) {
    step_->shapes.push_back(
        {std::string(name), std::string(name), {view.shape.begin(), view.shape.end()}});
  }
  SMD_RETURN_IF_ERROR(WriteReductions(name, view, wanted));
  if (tensorboard_) ShowInTensorboard(name, view, wanted);
  if (!wanted.raw) return Status::Ok();
  return builder_.Add(name, view, ContextAt(options_.clock->WallSeconds()), std::move(owner));
}

Status Hook::WriteReductions(std::string_view name, const tensor::View &view,
                             const Wanted &wanted) {
  if (wanted.reductions.empty()) return Status::Ok();
  tensor::Reducer reducer(view);
  const format::EventContext context = ContextAt(options_.clock->WallSeconds());
  constexpr int64_t kShape[] = {1};
  for (const tensor::Reduction reduction : wanted.reductions) {
    auto computed = reducer.Compute(reduction);
    if (!computed.IsOk()) {
      options_.logger.Debug(StrCat("'", name, "': ", tensor::ReductionName(reduction),
                                   " is not saved: ", computed.GetStatus().Message()));
      continue;
    }
    const tensor::Value value = ReadableByAll(*std::move(computed), reduction.kind);
    const tensor::View saved{value.data.get(), kShape, {}, value.dtype};
    const std::string saved_name =
        tensor::ReductionTensorName(reduction, name, options_.keeps_output_numbers);
    SMD_RETURN_IF_ERROR(builder_.Add(saved_name, saved, context));
  }
  return Status::Ok();
}

void Hook::ShowInTensorboard(std::string_view name, const tensor::View &view,
                             const Wanted &wanted) {
  const double now = options_.clock->WallSeconds();
  if (wanted.scalar) tensorboard_->AddScalar(name, view, now);
  if (wanted.histogram != nullptr) {
    tensorboard_->AddHistogram(wanted.histogram->Name(), name, view, now);
  }
}

Status Hook::SaveCustom(std::string_view tensor, const tensor::View &view,
                        const std::vector<std::string> &collections) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  SMD_ASSIGN_OR_RETURN(KeptTensor kept, KeptTensor::Of(view));
  const MutexLock lock(mutex_);
  if (is_closed_) return WrongState(StrCat("'", tensor, "': the hook is closed"));
  if (!is_recording_) return Status::Ok();  // no step would ever take it
  std::vector<config::CollectionPtr> members;
  members.reserve(collections.size());
  for (const std::string &name : collections) {
    members.push_back(collections_.GetOrCreate(name));
  }
  if (members.empty()) members.push_back(collections_.GetOrCreate(config::kDefaultCollection));
  for (const config::CollectionPtr &collection : members) collection->NoteMatch(tensor);
  customs_.insert_or_assign(std::string(tensor), Custom{std::move(kept), std::move(members)});
  return EarlyError();
}

Status Hook::SaveScalar(std::string_view name, const tensor::View &view, double timestamp) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (view.ElementCount() != 1) {
    return InvalidArgument(
        StrCat("scalar '", name, "' has ", view.ElementCount(), " elements; it must have one"));
  }
  SMD_ASSIGN_OR_RETURN(KeptTensor kept, KeptTensor::Of(view));
  const MutexLock lock(mutex_);
  if (is_closed_) return WrongState(StrCat("scalar '", name, "': the hook is closed"));
  if (!is_recording_) return Status::Ok();  // no step would ever take it
  const double at = timestamp > 0 ? timestamp : options_.clock->WallSeconds();
  scalars_.push_back({StrCat("scalar/", name), std::move(kept), at});
  return Status::Ok();
}

Status Hook::WriteKept() {
  Status first;
  const auto note = [&first](Status status) {
    if (first.IsOk()) first = std::move(status);
  };
  for (const auto &[name, custom] : customs_) {
    const tensor::View view = custom.tensor.AsView();
    const Wanted wanted = plan_.FindCustom(custom.collections);
    if (watches_now_ && wanted.raw) live_rules_->Observe(name, view);
    note(Write(name, view, wanted, nullptr));
  }
  for (const Scalar &scalar : scalars_) {
    if (!is_recording_ || step_->is_given_up) break;
    const tensor::View view = scalar.tensor.AsView();
    note(builder_.Add(scalar.name, view, ContextAt(scalar.timestamp)));
    if (tensorboard_) tensorboard_->AddScalar(scalar.name, view, scalar.timestamp);
    if (watches_now_) live_rules_->Observe(scalar.name, view);
  }
  customs_.clear();
  scalars_.clear();
  return first;
}

// What no step has taken goes into the last one, or, as that is written, into one more.
Status Hook::WriteLeftovers() {
  if ((scalars_.empty() && customs_.empty()) || !is_recording_) return Status::Ok();
  if (!last_mode_ || last_saved_ == StepOf(Mode::kGlobal)) {
    ++StepOf(Mode::kGlobal);
    if (mode_ != Mode::kGlobal) ++StepOf(mode_);
    last_mode_ = mode_;
  }
  StartSaving(*last_mode_);
  return CloseStep();
}

Status Hook::Watch(std::shared_ptr<rules::SharedPanel> panel) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const MutexLock lock(mutex_);
  if (is_step_open_) return WrongState("a step is open; rules begin to look between steps");
  auto watching = std::make_unique<LiveRules>(std::move(panel), collections_, options_.worker);
  if (live_rules_) watching->Inherit(live_rules_->TakeVerdicts());
  live_rules_ = std::move(watching);
  return Status::Ok();
}

rules::Action Hook::Advice() const {
  const MutexLock lock(mutex_);
  return live_rules_ ? live_rules_->Advice() : rules::Action::kContinue;
}

std::vector<rules::Verdict> Hook::TakeVerdicts() {
  const MutexLock lock(mutex_);
  return live_rules_ ? live_rules_->TakeVerdicts() : std::vector<rules::Verdict>();
}

std::string Hook::CollectionsText() const {
  return config::CollectionsToJson(plan_.FilledIn(),
                                   options_.includes_all_workers ? options_.num_workers : 1);
}

void Hook::PutCollections(const std::shared_ptr<Step> &before) {
  std::string text = CollectionsText();
  queue_.PutBefore(before, format::CollectionsFileName(options_.worker), text);
  collections_text_ = std::move(text);
}

Status Hook::ExportCollections() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  {
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
    if (is_closed_) return WrongState("the hook is closed");
  }
  SMD_RETURN_IF_ERROR(queue_.Flush(deadline));
  return queue_.TakeError();
}

Status Hook::Close() {
  SMD_RETURN_IF_ERROR(mark_.Check());
  Status written;
  std::unique_ptr<storage::Claim> claim;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(is_closed_, true)) return Status::Ok();
    if (is_step_open_) written = CloseStep();
    // One that saved nothing has not asked so far, and must not end another's trial.
    const Status claimed = AcquireClaim();
    if (written.IsOk()) written = claimed;
    const Status left = WriteLeftovers();
    if (written.IsOk()) written = left;
    if (is_recording_ && CollectionsText() != collections_text_) PutCollections();
    // The service ends the job's trial by itself.
    if (is_recording_ && !Environment("TRAINING_JOB_NAME")) {
      queue_.Put(std::string(format::kEndMarker), "");
    }
    claim = std::move(claim_);
  }
  const Status stopped = queue_.Stop(Deadline::After(*options_.clock, options_.close_time));
  const Status failed = queue_.TakeError();
  if (!written.IsOk()) return written;
  return failed.IsOk() ? stopped : failed;
}

}  // namespace smdebug::record
