// Reads the data that a job recorded or is still recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/event_files.h"
#include "analyze/index_scanner.h"
#include "analyze/once_log.h"
#include "analyze/step_records.h"
#include "analyze/step_table.h"
#include "analyze/tensor_table.h"
#include "analyze/trial_options.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/mode.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/strings.h"
#include "config/collection_set.h"
#include "config/placement.h"
#include "storage/store.h"

namespace smdebug::analyze {

// Selects the names that TensorNames() returns.
struct NameQuery {
  std::optional<int64_t> step;  // of `mode`
  Mode mode = Mode::kGlobal;
  std::vector<std::string> regexes;  // at least one is found in the name
  config::CollectionPtr collection;  // contains the name; not with regexes
};

// Safe from any thread.  The contract of each function is that of smd_trial_... in smdebug/trial.h.
class Trial {
 public:
  // Reads nothing yet.
  static Result<std::shared_ptr<Trial>> Make(std::string_view path, TrialOptions options);

  const std::string &Path() const { return path_; }
  const std::string &Name() const { return options_.name; }
  const ProcessMark &Mark() const { return mark_; }
  Clock &GetClock() const { return *options_.clock; }

  Status Load();
  // Returns one failure per call, and each file's failure once.  If a search finds several
  // failures, the next calls return the others without searching again.
  Status Refresh();
  bool SetAutoRefresh(bool on) { return auto_refresh_.exchange(on); }
  // Suppresses the refresh by queries until Release() was called as often as Hold().
  void Hold() { ++holds_; }
  void Release() { --holds_; }
  void Cancel();
  bool HasEnded() const;
  int64_t LastCompleteStep() const;

  Result<std::vector<int64_t>> Steps(Mode mode, bool incomplete_too);
  // Returns the first known global step at or after this one.
  Result<std::optional<int64_t>> NextStep(int64_t global_step);
  Result<std::vector<Mode>> Modes();
  Result<std::optional<ModeStep>> ModeStepOf(int64_t global_step);
  Result<std::optional<int64_t>> GlobalStepOf(Mode mode, int64_t step);
  Result<StepState> StateOf(int64_t step, Mode mode);
  Status WaitForStep(int64_t step, Mode mode, Deadline deadline);

  Result<std::vector<std::string>> Workers();
  Result<std::vector<std::string>> CollectionNames();
  Result<config::CollectionPtr> Collection(std::string_view name);
  Result<std::vector<std::string>> TensorNames(const NameQuery &query);
  Result<std::vector<std::string>> RecordedNames(int64_t step, Mode mode);

  // ---- for analyze::Tensor ----

  // Fails with TENSOR_UNAVAILABLE if the tensor was not saved so far.
  Status CheckTensor(const std::string &name);
  Result<std::string> OriginalName(const std::string &name);
  Result<std::vector<int64_t>> TensorSteps(const std::string &name, Mode mode, bool incomplete_too);
  // Returns the tensor's entries at a step, or none.  Does not refresh.
  StepEntries EntriesAt(const std::string &name, int64_t step, Mode mode) const;
  // Returns the entries of one worker; for "", of the first worker that has any.
  StepEntries EntriesAt(const std::string &name, int64_t step, Mode mode,
                        const std::string &worker) const;
  // Returns the entry of one kind at each step, of one worker as above; that of the elements if a
  // reduction was not saved.  Omits tensors of several records.  Does not refresh.
  std::vector<std::optional<Entry>> FindEntries(const std::string &name,
                                                std::span<const int64_t> steps, Mode mode,
                                                const std::string &worker, EntryKind kind) const;
  // Returns where the record of each entry lies; an empty place for none.
  std::vector<RecordPlace> PlacesOf(std::span<const std::optional<Entry>> entries) const;
  // Returns what the only record of that kind holds, or where it lies if its index file does not
  // say that.  Does not refresh.
  std::optional<ValueOrPlace> ValueOrPlaceAt(const std::string &name, int64_t step, Mode mode,
                                             const std::string &worker, EntryKind kind) const;
  // Returns the records of every tensor at a global step, without shapes.  Does not refresh.
  StepRecords RecordsAt(int64_t global_step) const;
  // Between the two, records that were read are kept for later readers.  Calls nest.
  void BeginSharing() { event_files_.BeginSharing(); }
  void EndSharing() { event_files_.EndSharing(); }
  // Returns the collections that the trial knows so far.
  const config::CollectionSet &Collections() const { return collections_; }
  // Returns which part of a tensor a worker holds, or NULL if no collections file says so.  Valid
  // as long as the trial.
  const config::Placement *PlacementOf(std::string_view tensor, std::string_view worker) const;
  // Returns the metadata of a worker; for "", of all, each key of the first worker that has it.
  Result<config::Metadata> MetadataOf(std::string_view worker);
  // Reads the collections files again, but only once after the end of the job.
  Status RereadCollections() SMD_EXCLUDES(refresh_mutex_);
  // Returns the reason that no value exists: one of the errors of smd_tensor_value().
  Status WhyNothing(const std::string &name, int64_t step, Mode mode);
  // Reads a tensor, whether it is in one record or in several.  If the index names an event file
  // that does not exist yet, waits for it.
  Result<ReadTensor> ReadTensorAt(const std::string &name, const StepEntries::Item &item);
  EventFiles &GetEventFiles() { return event_files_; }
  Status CheckUsable() const;
  // Logs once that a reader of whole steps continued without a record.
  void NoteSkipped(const Status &damage) { once_log_.Error(StrCat(damage.Message(), "; skipped")); }
  // Calls Load(), then searches for new data if queries refresh.
  Status MaybeRefresh();

 private:
  Trial(std::string path, TrialOptions options, std::shared_ptr<storage::Store> store);

  // Returns true while files may still come: a slow worker's, or a slow file system's, may be later
  // than the end marker.
  bool MayBeLate(double ended_at) const;
  // Returns true if all collections files exist.  Fails with MISSING_COLLECTIONS if they will not
  // come.
  Result<bool> TryLoad() SMD_EXCLUDES(refresh_mutex_);
  Result<bool> TryLoadLocked() SMD_REQUIRES(refresh_mutex_);
  Result<bool> LoadCollections() SMD_REQUIRES(refresh_mutex_);
  // Returns true if workers go on after the first one has ended, as their collections files said.
  bool OthersGoOn(double ended_at) SMD_REQUIRES(refresh_mutex_);
  // The same; reads these files again if there are several.
  Result<bool> OthersStillGoOn(double ended_at) SMD_REQUIRES(refresh_mutex_);
  void TakeMeta(const std::string &worker, config::CollectionsFile *file) SMD_EXCLUDES(mutex_);
  Status MissingCollections(std::string_view why) const;
  // Reads the data that was recorded since.  When the job has just ended, waits for files that are
  // visible late, at most until `deadline`: then a later call ends the trial.
  Status Look(const Deadline &deadline = Deadline::Never()) SMD_EXCLUDES(refresh_mutex_);
  Status LookLocked(const Deadline &deadline) SMD_REQUIRES(refresh_mutex_);
  Status Scan() SMD_REQUIRES(refresh_mutex_);
  // Logs the failures.  Returns one, and keeps the others for Refresh().
  Status NoteFailures(std::vector<Status> failures) SMD_EXCLUDES(mutex_);
  void Take(IndexScanner::Found &file) SMD_EXCLUDES(mutex_);
  // Waits for a change, at most `pause`.  Fails with CANCELLED.
  Status Pause(storage::Watcher &watcher, Clock::Duration pause, const Deadline &deadline);
  // Waits for `longest`, or until the file is there if looking for it is free.
  Status PauseForFile(const std::string &file, Clock::Duration longest);
  // Searches for new data during a wait.  If a search is billed, does nothing until it is due.
  Status LookForNews(const Deadline &deadline);
  // Returns the time until the next search is due, or a short time if a search is free.
  Clock::Duration UntilNextLook(Clock::Duration pause) const;
  class Waiting;
  uint16_t WorkerNumber(const std::string &name) SMD_REQUIRES(mutex_);
  std::span<const Entry> EntriesOf(const TensorEntries &tensor, int64_t step, Mode mode) const
      SMD_REQUIRES(mutex_);
  std::span<const Entry> OfWorker(std::span<const Entry> entries, const std::string &worker) const
      SMD_REQUIRES(mutex_);
  StepEntries::Item ItemOf(const TensorEntries &tensor, const Entry &entry) const
      SMD_REQUIRES(mutex_);
  std::string EventFileOf(const Entry &entry) const SMD_REQUIRES(mutex_);
  RecordPlace PlaceOf(const Entry &entry) const SMD_REQUIRES(mutex_);
  const std::string &FileOf(const Entry &entry) const SMD_REQUIRES(mutex_);
  // Returns the tensors with entries at a step, each once, in no order.
  std::vector<const TensorEntries *> TensorsAt(int64_t step, Mode mode) const SMD_REQUIRES(mutex_);
  std::optional<ModeStep> KeyOf(const TensorEntries &tensor, int64_t step, Mode mode) const
      SMD_REQUIRES(mutex_);
  Status Gone(int64_t step, Mode mode) const SMD_REQUIRES(mutex_);
  Result<bool> IsNamed(const NameQuery &query, const TensorEntries &tensor) const
      SMD_REQUIRES(mutex_);
  Result<ReadTensor> ReadRecordAt(const std::string &name, const StepEntries::Item &item,
                                  const RecordPlace &place);
  Result<ReadTensor> ReadPartsAt(const std::string &name, const StepEntries::Item &item);
  bool HasLaterEventFile(const StepEntries::Item &item);

  const std::string path_;
  const TrialOptions options_;
  const ProcessMark mark_;
  const std::shared_ptr<storage::Store> store_;
  OnceLog once_log_;
  EventFiles event_files_;
  std::atomic<bool> auto_refresh_{true};
  std::atomic<int> holds_{0};
  std::atomic<bool> is_loaded_{false};
  std::atomic<bool> has_logged_waiting_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> are_collections_final_{false};  // read after the end
  std::atomic<bool> is_cancelled_{false};

  Mutex refresh_mutex_;  // acquired before mutex_
  IndexScanner scanner_ SMD_GUARDED_BY(refresh_mutex_);
  bool is_listed_ SMD_GUARDED_BY(refresh_mutex_) = false;  // by the last Scan()
  bool has_scanned_ SMD_GUARDED_BY(refresh_mutex_) = false;
  // When a search found more than the one before, in seconds since 1970.
  double last_news_ SMD_GUARDED_BY(refresh_mutex_) = 0;
  // Until when files may come after the end marker, once it was seen.
  std::optional<Deadline> late_until_ SMD_GUARDED_BY(refresh_mutex_);

  mutable Mutex mutex_;
  StepTable steps_ SMD_GUARDED_BY(mutex_);
  TensorTable tensors_ SMD_GUARDED_BY(mutex_);
  config::CollectionSet collections_;
  std::set<std::string> recording_workers_ SMD_GUARDED_BY(mutex_);  // from collections files
  std::set<std::string> ended_workers_ SMD_GUARDED_BY(mutex_);      // likewise
  std::map<std::string, config::Placements, std::less<>> placements_
      SMD_GUARDED_BY(mutex_);  // by worker
  std::map<std::string, config::Metadata, std::less<>> metadata_ SMD_GUARDED_BY(mutex_);
  // Placements that were replaced, which readers may still use.
  std::vector<config::PlacementPtr> old_placements_ SMD_GUARDED_BY(mutex_);
  std::vector<std::string> worker_names_ SMD_GUARDED_BY(mutex_);  // by number
  std::unordered_map<std::string, uint16_t> worker_numbers_ SMD_GUARDED_BY(mutex_);
  std::map<std::pair<int64_t, uint16_t>, std::string> odd_event_files_ SMD_GUARDED_BY(mutex_);
  std::deque<Status> unreported_
      SMD_GUARDED_BY(mutex_);  // failures that Refresh() has yet to return
  std::set<storage::Watcher *> watchers_ SMD_GUARDED_BY(mutex_);
  // The file of the last entry that FileOf() was asked about: many follow from the same file.
  mutable std::pair<int64_t, uint16_t> last_file_key_ SMD_GUARDED_BY(mutex_){-1, 0};
  mutable std::string last_file_ SMD_GUARDED_BY(mutex_);
  mutable size_t usual_records_ SMD_GUARDED_BY(mutex_) = 0;  // of the last step that was read
  // Kept from one wait to the next: a host may wait in many short slices.
  Clock::Duration next_look_ SMD_GUARDED_BY(mutex_){};
  Clock::Duration look_pause_ SMD_GUARDED_BY(mutex_){};
};

}  // namespace smdebug::analyze
