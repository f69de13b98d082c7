#include "analyze/trial.h"

#include <algorithm>
#include <new>

#include "analyze/worker_ends.h"
#include "base/deferral.h"
#include "base/regex.h"
#include "base/strings.h"
#include "format/paths.h"

namespace smdebug::analyze {
namespace {

constexpr Clock::Duration kShortestPause = std::chrono::milliseconds(50);
constexpr Clock::Duration kLongestPause = std::chrono::seconds(2);
// A wait is not logged before this time.
constexpr Clock::Duration kSilence = std::chrono::seconds(1);
// The most unreadable index files that one refresh logs with a line each.
constexpr size_t kMostLogged = 10;

Clock::Duration Longer(Clock::Duration pause) { return std::min(pause * 2, kLongestPause); }

std::string LastPart(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string StepText(int64_t step, Mode mode) {
  return mode == Mode::kGlobal ? StrCat("step ", step) : StrCat(ModeName(mode), " step ", step);
}

Status AboutStep(Code code, int64_t step, Mode mode, std::string message) {
  return Status(code, std::move(message))
      .With("step", std::to_string(step))
      .With("mode", std::string(ModeName(mode)));
}

}  // namespace

// A watcher that Cancel() can wake.
class Trial::Waiting {
 public:
  explicit Waiting(Trial &trial) : trial_(trial), watcher_(trial.store_->Watch()) {
    const MutexLock lock(trial_.mutex_);
    trial_.watchers_.insert(watcher_.get());
    if (trial_.is_cancelled_) watcher_->Wake();
  }
  ~Waiting() {
    const MutexLock lock(trial_.mutex_);
    trial_.watchers_.erase(watcher_.get());
  }
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;

  storage::Watcher &operator*() { return *watcher_; }

 private:
  Trial &trial_;
  const std::unique_ptr<storage::Watcher> watcher_;
};

Trial::Trial(std::string path, TrialOptions options, std::shared_ptr<storage::Store> store)
    : path_(std::move(path)),
      options_(std::move(options)),
      store_(std::move(store)),
      once_log_(options_.logger),
      event_files_(store_),
      scanner_(store_, options_.range),
      steps_(options_.incomplete_window),
      tensors_(options_.uses_index_numbers) {}

Result<std::shared_ptr<Trial>> Trial::Make(std::string_view path, TrialOptions options) {
  path = Trim(path);
  SMD_RETURN_IF_ERROR(options.Check());
  std::shared_ptr<storage::Store> store = options.store;
  if (!store) {
    SMD_ASSIGN_OR_RETURN(store, storage::OpenStore(path, options.store_options, options.logger));
  }
  if (options.name.empty()) options.name = LastPart(path);
  return std::shared_ptr<Trial>(new Trial(std::string(path), std::move(options), std::move(store)));
}

Status Trial::CheckUsable() const {
  SMD_RETURN_IF_ERROR(mark_.Check());
  if (is_cancelled_) return {Code::kCancelled, StrCat(path_, ": the trial was cancelled")};
  return Status::Ok();
}

void Trial::Cancel() {
  is_cancelled_ = true;
  const MutexLock lock(mutex_);
  for (storage::Watcher *watcher : watchers_) watcher->Wake();
}

Status Trial::Pause(storage::Watcher &watcher, Clock::Duration pause, const Deadline &deadline) {
  watcher.Wait(std::min(pause, deadline.Left(*options_.clock)));
  return CheckUsable();
}

Status Trial::PauseForFile(const std::string &file, Clock::Duration longest) {
  Waiting waiting(*this);
  const Deadline deadline = Deadline::After(*options_.clock, longest);
  Clock::Duration pause = store_->IsMetered() ? longest : kShortestPause;
  while (!deadline.IsOver(*options_.clock)) {
    SMD_RETURN_IF_ERROR(Pause(*waiting, pause, deadline));
    if (store_->IsMetered()) continue;  // the caller looks
    SMD_ASSIGN_OR_RETURN(const bool is_there, store_->Exists(file));
    if (is_there) break;
    pause = Longer(pause);
  }
  return Status::Ok();
}

// ---- loading -------------------------------------------------------------------------

Status Trial::MissingCollections(std::string_view why) const {
  return Status(Code::kMissingCollections,
                StrCat(path_, ": no collection files of all workers: ", why,
                       ". Is this the folder given to the hook as out_dir, and did the job save "
                       "anything?"))
      .With("path", path_);
}

// Returns true if the collections of all workers exist.
Result<bool> Trial::LoadCollections() {
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                       store_->List(std::string(format::kCollectionsFolder)));
  std::set<std::string> workers;
  size_t num_workers = 1;
  for (const std::string &name : names) {
    const std::optional<std::string> worker = format::ParseCollectionsFileName(name);
    if (!worker) continue;
    SMD_ASSIGN_OR_RETURN(const std::string text, store_->ReadText(name));
    SMD_ASSIGN_OR_RETURN(config::CollectionsFile file,
                         config::CollectionsFromJson(text, StrCat(store_->Location(), "/", name)));
    if (workers.empty()) num_workers = static_cast<size_t>(file.num_workers);
    workers.insert(*worker);
    TakeMeta(*worker, &file);
    for (const config::CollectionPtr &collection : file.collections) {
      const config::CollectionPtr known = collections_.Find(collection->Name());
      if (!known) {
        collections_.Add(collection);
        continue;
      }
      for (const std::string &tensor : collection->Tensors()) known->NoteMatch(tensor);
    }
  }
  const MutexLock lock(mutex_);
  steps_.SetNumWorkers(num_workers);
  const bool is_complete = !workers.empty() && workers.size() >= num_workers;
  recording_workers_ = std::move(workers);
  return is_complete;
}

void Trial::TakeMeta(const std::string &worker, config::CollectionsFile *file) {
  const MutexLock lock(mutex_);
  metadata_[worker] = std::move(file->metadata);
  ended_workers_.erase(worker);
  if (file->has_ended) ended_workers_.insert(worker);
  config::Placements &known = placements_[worker];
  for (auto &[tensor, placement] : file->placements) {
    config::PlacementPtr &held = known[tensor];
    if (held && *held == *placement) continue;
    if (held) old_placements_.push_back(std::move(held));
    held = std::move(placement);
  }
}

const config::Placement *Trial::PlacementOf(std::string_view tensor,
                                            std::string_view worker) const {
  const MutexLock lock(mutex_);
  const auto of_worker = placements_.find(worker);
  if (of_worker == placements_.end()) return nullptr;
  const auto placement = of_worker->second.find(tensor);
  return placement == of_worker->second.end() ? nullptr : placement->second.get();
}

Result<config::Metadata> Trial::MetadataOf(std::string_view worker) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  SMD_RETURN_IF_ERROR(RereadCollections());
  const MutexLock lock(mutex_);
  config::Metadata all;
  for (const auto &[name, metadata] : metadata_) {
    if (worker.empty() || name == worker) all.insert(metadata.begin(), metadata.end());
  }
  return all;
}

Status Trial::RereadCollections() {
  if (are_collections_final_) return Status::Ok();
  const bool is_final = has_ended_;
  const DeferringLock lock(refresh_mutex_);
  SMD_RETURN_IF_ERROR(LoadCollections().GetStatus());
  are_collections_final_ = is_final;
  return Status::Ok();
}

bool Trial::MayBeLate(double ended_at) const {
  const double age = options_.clock->WallSeconds() - ended_at;
  return age < std::chrono::duration<double>(options_.end_delay).count();
}

bool Trial::OthersGoOn(double ended_at) {
  const double silence = options_.clock->WallSeconds() - std::max(ended_at, last_news_);
  const MutexLock lock(mutex_);
  return analyze::OthersGoOn(ended_workers_.size(), recording_workers_.size(), silence);
}

Result<bool> Trial::OthersStillGoOn(double ended_at) {
  {
    const MutexLock lock(mutex_);
    if (are_collections_final_ || recording_workers_.size() < 2) return false;
  }
  SMD_RETURN_IF_ERROR(LoadCollections().GetStatus());
  return OthersGoOn(ended_at);
}

Result<bool> Trial::TryLoad() {
  const DeferringLock lock(refresh_mutex_);
  return TryLoadLocked();
}

Result<bool> Trial::TryLoadLocked() {
  if (is_loaded_) return true;
  // The marker is checked first: the job wrote everything else before it.
  SMD_ASSIGN_OR_RETURN(const std::optional<double> ended_at,
                       store_->ModifiedAt(std::string(format::kEndMarker)));
  SMD_ASSIGN_OR_RETURN(const bool is_complete, LoadCollections());
  if (!is_complete && ended_at) return MissingCollections("the job has ended");
  if (ended_at && !MayBeLate(*ended_at) && !OthersGoOn(*ended_at)) are_collections_final_ = true;
  is_loaded_ = is_complete;
  return is_complete;
}

Status Trial::Load() {
  SMD_RETURN_IF_ERROR(CheckUsable());
  if (is_loaded_) return Status::Ok();
  const Deadline deadline = Deadline::After(*options_.clock, options_.wait);
  const Deadline silence = Deadline::After(*options_.clock, kSilence);
  Clock::Duration pause = kShortestPause;
  std::unique_ptr<Waiting> waiting;
  while (true) {
    SMD_ASSIGN_OR_RETURN(const bool is_loaded, TryLoad());
    if (is_loaded) return Status::Ok();
    if (deadline.IsOver(*options_.clock)) return MissingCollections("they did not appear in time");
    if (!waiting) {
      options_.logger.Info(StrCat(path_, ": waiting for collection files"));
      waiting = std::make_unique<Waiting>(*this);
    }
    const bool is_silent = !silence.IsOver(*options_.clock);
    if (!is_silent && !has_logged_waiting_.exchange(true)) {
      options_.logger.Warning(StrCat(
          path_, ": waiting for a job to record here, for up to ",
          std::chrono::duration_cast<std::chrono::seconds>(options_.wait).count(),
          " seconds in all: there are no collection files of all workers yet. Is this the folder "
          "given to the hook as out_dir?"));
    }
    const Clock::Duration next = is_silent ? std::min(pause, silence.Left(*options_.clock)) : pause;
    SMD_RETURN_IF_ERROR(Pause(**waiting, next, deadline));
    pause = Longer(pause);
  }
}

Status Trial::MaybeRefresh() {
  SMD_RETURN_IF_ERROR(Load());
  return auto_refresh_ && holds_ == 0 ? Look() : Status::Ok();
}

Status Trial::Refresh() {
  SMD_RETURN_IF_ERROR(CheckUsable());
  {
    const MutexLock lock(mutex_);
    if (!unreported_.empty()) {
      Status failure = std::move(unreported_.front());
      unreported_.pop_front();
      return failure;
    }
  }
  return Look();
}

Status Trial::Look(const Deadline &deadline) {
  SMD_RETURN_IF_ERROR(Load());
  if (has_ended_) return Status::Ok();
  const DeferringLock lock(refresh_mutex_);
  return has_ended_ ? Status::Ok() : LookLocked(deadline);
}

Status Trial::LookLocked(const Deadline &deadline) {
  SMD_ASSIGN_OR_RETURN(const std::optional<double> ended_at,
                       store_->ModifiedAt(std::string(format::kEndMarker)));
  Status scanned = Scan();
  const Result<bool> goes_on = ended_at ? OthersStillGoOn(*ended_at) : true;
  // A later call looks again.
  if (!goes_on.IsOk()) return scanned.IsOk() ? goes_on.GetStatus() : scanned;
  if (*goes_on) {
    late_until_.reset();
    return scanned;
  }
  if (MayBeLate(*ended_at)) {
    if (!late_until_) late_until_ = Deadline::After(*options_.clock, options_.end_delay);
    Waiting waiting(*this);
    while (!late_until_->IsOver(*options_.clock)) {
      if (deadline.IsOver(*options_.clock)) return scanned;  // a later call ends the trial
      const Clock::Duration left = late_until_->Left(*options_.clock);
      SMD_RETURN_IF_ERROR(Pause(*waiting, std::min(kLongestPause, left), deadline));
    }
    Status late = Scan();
    if (!late.IsOk()) {  // a later call ends the trial
      if (!scanned.IsOk()) {
        const MutexLock lock(mutex_);
        unreported_.push_front(std::move(scanned));
      }
      return late;
    }
  }
  // No search follows this one.  So files that failed for lack of a resource, such as file
  // descriptors, get another chance first, and so does a listing.
  const bool may_get_better = !is_listed_ || scanned.GetCode() != Code::kCorruptData;
  if (!scanned.IsOk() && may_get_better) return scanned;
  // The job may have written its final collections when it closed.
  if (!are_collections_final_) SMD_RETURN_IF_ERROR(LoadCollections().GetStatus());
  const MutexLock lock(mutex_);
  steps_.End();
  tensors_.Settle();
  scanner_.Finish();
  has_ended_ = true;
  return scanned;
}

Status Trial::Scan() try {
  std::vector<Status> failures;
  bool has_news = false;
  const auto is_known = [this](int64_t step, const std::string &worker) {
    const MutexLock lock(mutex_);
    return steps_.Has(step, WorkerNumber(worker));
  };
  const auto take = [&](IndexScanner::Found &file) {
    has_news = true;
    Take(file);
  };
  const bool is_first = !std::exchange(has_scanned_, true);
  is_listed_ = false;
  SMD_RETURN_IF_ERROR(scanner_.Next(is_known, take, &failures));
  is_listed_ = true;
  if (has_news && !is_first) last_news_ = options_.clock->WallSeconds();
  {
    const MutexLock lock(mutex_);
    steps_.ApplyWindow();
    if (has_news) {
      look_pause_ = {};
      next_look_ = {};
    }
    if (const int64_t complete = steps_.LastComplete(); complete >= 0) scanner_.Settle(complete);
  }
  return NoteFailures(std::move(failures));
} catch (const std::bad_alloc &) {
  scanner_.StartOver();
  throw;
}

Status Trial::NoteFailures(std::vector<Status> failures) {
  if (failures.empty()) return Status::Ok();
  // Failures of files that may become readable come first: the trial does not end while there are
  // any.
  std::stable_partition(failures.begin(), failures.end(), [](const Status &failure) {
    return failure.GetCode() != Code::kCorruptData;
  });
  for (size_t i = 0; i < std::min(failures.size(), kMostLogged); ++i) {
    options_.logger.Warning(failures[i].Message());
  }
  if (failures.size() > kMostLogged) {
    options_.logger.Warning(
        StrCat(path_, ": ", failures.size() - kMostLogged, " further index files cannot be read"));
  }
  const MutexLock lock(mutex_);
  unreported_.insert(unreported_.end(), failures.begin() + 1, failures.end());
  return std::move(failures.front());
}

void Trial::Take(IndexScanner::Found &file) {
  const MutexLock lock(mutex_);
  const uint16_t worker = WorkerNumber(file.worker);
  const ModeStep as{file.index.mode, file.index.mode_step};
  const std::string usual = format::EventFileName(file.step, format::WorkerToFile(file.worker));
  if (!file.index.event_file_name.empty() && file.index.event_file_name != usual) {
    odd_event_files_[{file.step, worker}] = file.index.event_file_name;
    last_file_key_ = {-1, 0};
  }
  tensors_.Add(file.step, worker, file.index);
  steps_.Add(file.step, worker, as);
}

// Workers beyond the last number share it: no job has that many workers.
uint16_t Trial::WorkerNumber(const std::string &name) {
  if (const auto found = worker_numbers_.find(name); found != worker_numbers_.end()) {
    return found->second;
  }
  const auto number = static_cast<uint16_t>(std::min<size_t>(worker_names_.size(), UINT16_MAX - 1));
  if (number == worker_names_.size()) worker_names_.push_back(name);
  worker_numbers_.emplace(name, number);
  return number;
}

// ---- steps ---------------------------------------------------------------------------

bool Trial::HasEnded() const { return has_ended_; }

int64_t Trial::LastCompleteStep() const {
  const MutexLock lock(mutex_);
  return steps_.LastComplete();
}

Result<std::vector<int64_t>> Trial::Steps(Mode mode, bool incomplete_too) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.Steps(mode, incomplete_too);
}

Result<std::optional<int64_t>> Trial::NextStep(int64_t global_step) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.NextStep(global_step);
}

Result<std::vector<Mode>> Trial::Modes() {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.Modes();
}

Result<std::optional<ModeStep>> Trial::ModeStepOf(int64_t global_step) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.ModeStepOf(global_step);
}

Result<std::optional<int64_t>> Trial::GlobalStepOf(Mode mode, int64_t step) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.GlobalStepOf(mode, step);
}

Result<StepState> Trial::StateOf(int64_t step, Mode mode) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return steps_.StateOf(step, mode);
}

// Returns why a step is unavailable: it was skipped, or it is after the job's end.
Status Trial::Gone(int64_t step, Mode mode) const {
  const int64_t last = steps_.LastStep(mode).value_or(-1);
  if (!steps_.HasEnded() || step < last) {
    return AboutStep(Code::kStepUnavailable, step, mode,
                     StrCat(StepText(step, mode), " was not saved by the training job"));
  }
  return AboutStep(Code::kNoMoreData, step, mode,
                   StrCat("the training job has ended before ", StepText(step, mode),
                          "; the last step it saved is ", last))
      .With("last_step", std::to_string(last));
}

Status Trial::LookForNews(const Deadline &deadline) {
  if (!store_->IsMetered()) return Look(deadline);
  {
    const MutexLock lock(mutex_);
    const Clock::Duration now = options_.clock->Monotonic();
    if (now < next_look_) return CheckUsable();
    look_pause_ = std::max(Longer(look_pause_), kShortestPause);
    next_look_ = now + look_pause_;
  }
  return Look(deadline);
}

Clock::Duration Trial::UntilNextLook(Clock::Duration pause) const {
  if (!store_->IsMetered()) return pause;
  const MutexLock lock(mutex_);
  return std::max(next_look_ - options_.clock->Monotonic(), Clock::Duration::zero());
}

Status Trial::WaitForStep(int64_t step, Mode mode, Deadline deadline) {
  SMD_RETURN_IF_ERROR(Load());
  Clock::Duration pause = kShortestPause;
  std::unique_ptr<Waiting> waiting;
  while (true) {
    SMD_RETURN_IF_ERROR(LookForNews(deadline));
    {
      const MutexLock lock(mutex_);
      const StepState state = steps_.StateOf(step, mode);
      if (state == StepState::kAvailable) return Status::Ok();
      if (state == StepState::kUnavailable) return Gone(step, mode);
    }
    if (deadline.IsOver(*options_.clock)) {
      return AboutStep(Code::kTimeout, step, mode,
                       StrCat(path_, ": ", StepText(step, mode), " did not come in time"));
    }
    if (!waiting) waiting = std::make_unique<Waiting>(*this);
    SMD_RETURN_IF_ERROR(Pause(**waiting, UntilNextLook(pause), deadline));
    pause = Longer(pause);
  }
}

// ---- workers, collections, names -----------------------------------------------------

Result<std::vector<std::string>> Trial::Workers() {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  return std::vector<std::string>(recording_workers_.begin(), recording_workers_.end());
}

Result<std::vector<std::string>> Trial::CollectionNames() {
  SMD_RETURN_IF_ERROR(Load());
  std::vector<std::string> names;
  for (const config::CollectionPtr &collection : collections_.List()) {
    names.push_back(collection->Name());
  }
  return names;
}

Result<config::CollectionPtr> Trial::Collection(std::string_view name) {
  SMD_RETURN_IF_ERROR(Load());
  config::CollectionPtr found = collections_.Find(name);
  if (found) return found;
  return Status(Code::kNotFound, StrCat("the trial has no collection '", name, "'"))
      .With("collection", std::string(name));
}

Result<bool> Trial::IsNamed(const NameQuery &query, const TensorEntries &tensor) const {
  if (query.step && query.mode == Mode::kGlobal) {
    const std::optional<ModeStep> as = steps_.ModeStepOf(*query.step);
    if (!as || tensor.At(as->mode, as->step).empty()) return false;
  } else if (query.step) {
    if (tensor.At(query.mode, *query.step).empty()) return false;
  } else if (query.mode != Mode::kGlobal && !tensor.Has(query.mode)) {
    return false;
  }
  return query.collection ? query.collection->Has(tensor.Name()) : Result<bool>(true);
}

Result<std::vector<std::string>> Trial::TensorNames(const NameQuery &query) {
  if (!query.regexes.empty() && query.collection) {
    return InvalidArgument("give either regular expressions or a collection, not both");
  }
  std::vector<Regex> regexes;
  for (const std::string &expression : query.regexes) {
    SMD_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(expression));
    regexes.push_back(std::move(regex));
  }
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  std::vector<std::string> names;
  RegexBudget budget;  // not the collections': neither may use up the other's
  const MutexLock lock(mutex_);
  for (const TensorEntries *tensor : tensors_.Sorted()) {
    SMD_ASSIGN_OR_RETURN(bool is_named, IsNamed(query, *tensor));
    if (is_named && !regexes.empty()) {
      is_named = false;
      for (const Regex &regex : regexes) {
        SMD_ASSIGN_OR_RETURN(const bool is_found, budget.IsFoundIn(regex, tensor->Name()));
        is_named = is_named || is_found;
      }
    }
    if (is_named) names.push_back(tensor->Name());
  }
  return names;
}

}  // namespace smdebug::analyze
