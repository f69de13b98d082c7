// Implements the part of Trial that serves analyze::Tensor.
#include <algorithm>

#include "analyze/joined_parts.h"
#include "analyze/trial.h"
#include "analyze/value_blocks.h"
#include "base/strings.h"
#include "format/paths.h"

namespace smdebug::analyze {
namespace {

constexpr Clock::Duration kMissingFilePause = std::chrono::seconds(2);

Status NotAtStep(const std::string &name, int64_t step, Mode mode) {
  return Status(Code::kValueUnavailable,
                StrCat("tensor '", name, "' was not saved at ", ModeName(mode), " step ", step))
      .With("tensor", name)
      .With("step", std::to_string(step))
      .With("mode", std::string(ModeName(mode)));
}

}  // namespace

Status Trial::CheckTensor(const std::string &name) {
  SMD_RETURN_IF_ERROR(Load());
  {
    const MutexLock lock(mutex_);
    if (tensors_.Find(name) != nullptr) return Status::Ok();
  }
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  if (tensors_.Find(name) != nullptr) return Status::Ok();
  return Status(Code::kTensorUnavailable,
                StrCat("tensor '", name, "' was not saved so far by the job at ", path_))
      .With("tensor", name);
}

Result<std::string> Trial::OriginalName(const std::string &name) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  const TensorEntries *tensor = tensors_.Find(name);
  return tensor == nullptr ? std::string() : tensor->OriginalName();
}

Result<std::vector<int64_t>> Trial::TensorSteps(const std::string &name, Mode mode,
                                                bool incomplete_too) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  const MutexLock lock(mutex_);
  std::vector<int64_t> found;
  const TensorEntries *tensor = tensors_.Find(name);
  if (tensor == nullptr) return found;
  for (const Mode filed : kModes) {
    if (mode != Mode::kGlobal && mode != filed) continue;
    for (const SavedStep &saved : tensor->Steps(filed)) {
      // The first global step with this number represents it, whichever worker wrote it.
      const int64_t global = steps_.GlobalStepOf(filed, saved.step).value_or(saved.global_step);
      const int64_t number = mode == Mode::kGlobal ? global : saved.step;
      if (!found.empty() && found.back() == number) continue;
      if (incomplete_too || steps_.IsComplete(global)) found.push_back(number);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Returns the key that the entries of a step are stored under: GLOBAL if the step was saved so,
// else the mode of the global step.
std::optional<ModeStep> Trial::KeyOf(const TensorEntries &tensor, int64_t step, Mode mode) const {
  if (mode != Mode::kGlobal || !tensor.At(Mode::kGlobal, step).empty()) return ModeStep{mode, step};
  return steps_.ModeStepOf(step);
}

std::vector<const TensorEntries *> Trial::TensorsAt(int64_t step, Mode mode) const {
  std::vector<ModeStep> places{{mode, step}};
  if (mode == Mode::kGlobal) {
    if (const auto other = steps_.ModeStepOf(step)) places.push_back(*other);
  }
  return tensors_.At(places);
}

std::span<const Entry> Trial::EntriesOf(const TensorEntries &tensor, int64_t step,
                                        Mode mode) const {
  const std::optional<ModeStep> key = KeyOf(tensor, step, mode);
  return key ? tensor.At(key->mode, key->step) : std::span<const Entry>();
}

StepEntries::Item Trial::ItemOf(const TensorEntries &tensor, const Entry &entry) const {
  StepEntries::Item item{
      entry, worker_names_[entry.worker], EventFileOf(entry), {}, tensor.PartsOf(entry)};
  if (entry.kind == EntryKind::Shape()) item.shape = tensor.ShapeOf(entry);
  return item;
}

Result<std::vector<std::string>> Trial::RecordedNames(int64_t step, Mode mode) {
  SMD_RETURN_IF_ERROR(MaybeRefresh());
  // A tensor of which only the shape was saved has no record, and comes after the others.
  using Position = std::tuple<std::string_view, uint64_t, std::string_view>;
  std::vector<Position> found;
  const MutexLock lock(mutex_);
  for (const TensorEntries *tensor : TensorsAt(step, mode)) {
    std::optional<Position> first;
    for (const Entry &entry : EntriesOf(*tensor, step, mode)) {
      const uint64_t start = entry.kind == EntryKind::Shape() ? UINT64_MAX : entry.start;
      const Position at{worker_names_[entry.worker], start, tensor->Name()};
      if (!first || at < *first) first = at;
    }
    if (first) found.push_back(*first);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const Position &each : found) names.emplace_back(std::get<2>(each));
  return names;
}

StepEntries Trial::EntriesAt(const std::string &name, int64_t step, Mode mode) const {
  StepEntries found;
  const MutexLock lock(mutex_);
  const TensorEntries *tensor = tensors_.Find(name);
  if (tensor == nullptr) return found;
  for (const Entry &entry : EntriesOf(*tensor, step, mode)) {
    found.items.push_back(ItemOf(*tensor, entry));
  }
  std::stable_sort(found.items.begin(), found.items.end(),
                   [](const auto &a, const auto &b) { return a.worker < b.worker; });
  return found;
}

// Returns the entries of one worker, which are adjacent; for "", those of the first by name.
std::span<const Entry> Trial::OfWorker(std::span<const Entry> entries,
                                       const std::string &worker) const {
  if (entries.empty()) return {};
  auto first = entries.begin();
  if (!worker.empty()) {
    const auto number = worker_numbers_.find(worker);
    if (number == worker_numbers_.end()) return {};
    // The entries of a step are sorted by their workers' numbers.
    first = std::lower_bound(entries.begin(), entries.end(), number->second,
                             [](const Entry &a, uint16_t b) { return a.worker < b; });
    if (first == entries.end() || worker_names_[first->worker] != worker) return {};
  } else if (entries.back().worker != first->worker) {
    const auto is_before = [this](const Entry &a, const Entry &b) SMD_REQUIRES(mutex_) {
      return a.worker != b.worker && worker_names_[a.worker] < worker_names_[b.worker];
    };
    first = std::min_element(entries.begin(), entries.end(), is_before);
  }
  const auto end = std::find_if(
      first, entries.end(), [first](const Entry &entry) { return entry.worker != first->worker; });
  return {first, end};
}

StepEntries Trial::EntriesAt(const std::string &name, int64_t step, Mode mode,
                             const std::string &worker) const {
  StepEntries found;
  const MutexLock lock(mutex_);
  const TensorEntries *tensor = tensors_.Find(name);
  if (tensor == nullptr) return found;
  for (const Entry &entry : OfWorker(EntriesOf(*tensor, step, mode), worker)) {
    found.items.push_back(ItemOf(*tensor, entry));
  }
  return found;
}

std::vector<std::optional<Entry>> Trial::FindEntries(const std::string &name,
                                                     std::span<const int64_t> steps, Mode mode,
                                                     const std::string &worker,
                                                     EntryKind kind) const {
  std::vector<std::optional<Entry>> found(steps.size());
  const MutexLock lock(mutex_);
  const TensorEntries *tensor = tensors_.Find(name);
  if (tensor == nullptr) return found;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Entry &entry : OfWorker(EntriesOf(*tensor, steps[i], mode), worker)) {
      if (entry.kind == kind) {
        found[i] = entry;
        break;
      }
      if (entry.kind == EntryKind::Raw()) found[i] = entry;
    }
    if (found[i] && found[i]->parts != 0) found[i].reset();
  }
  return found;
}

std::vector<RecordPlace> Trial::PlacesOf(std::span<const std::optional<Entry>> entries) const {
  std::vector<RecordPlace> places(entries.size());
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i]) places[i] = PlaceOf(*entries[i]);
  }
  return places;
}

const std::string &Trial::FileOf(const Entry &entry) const {
  const std::pair key(entry.global_step, entry.worker);
  if (last_file_key_ != key) {
    last_file_ = EventFileOf(entry);
    last_file_key_ = key;
  }
  return last_file_;
}

RecordPlace Trial::PlaceOf(const Entry &entry) const {
  RecordPlace place{FileOf(entry), entry.start, entry.length, {}};
  if (entry.has_crc32c) place.crc32c = entry.crc32c;
  return place;
}

std::optional<ValueOrPlace> Trial::ValueOrPlaceAt(const std::string &name, int64_t step, Mode mode,
                                                  const std::string &worker, EntryKind kind) const {
  const MutexLock lock(mutex_);
  const TensorEntries *tensor = tensors_.Find(name);
  if (tensor == nullptr) return {};
  for (const Entry &entry : OfWorker(EntriesOf(*tensor, step, mode), worker)) {
    if (entry.kind != kind) continue;
    if (entry.parts != 0) return {};
    if (auto known = ValueBlocks().ValueOf(entry.number)) return *std::move(known);
    return PlaceOf(entry);
  }
  return {};
}

StepRecords Trial::RecordsAt(int64_t global_step) const {
  const MutexLock lock(mutex_);
  StepRecords found;
  found.records.reserve(usual_records_);
  for (const TensorEntries *tensor : TensorsAt(global_step, Mode::kGlobal)) {
    const std::optional<ModeStep> key = KeyOf(*tensor, global_step, Mode::kGlobal);
    if (!key) continue;
    for (const Entry &entry : tensor->At(key->mode, key->step)) {
      if (entry.kind == EntryKind::Shape()) continue;
      const bool is_as_before = !found.records.empty() &&
                                found.records.back().entry.worker == entry.worker &&
                                found.records.back().entry.global_step == entry.global_step;
      if (is_as_before) {
        const StepRecords::Record &before = found.records.back();
        found.records.push_back(
            {tensor->Name(), before.worker, before.file, entry, tensor->PartsOf(entry)});
        continue;
      }
      std::string &worker = found.workers[entry.worker];
      std::string &file = found.files[{entry.global_step, entry.worker}];
      worker = worker_names_[entry.worker];
      file = EventFileOf(entry);
      found.records.push_back({tensor->Name(), &worker, &file, entry, tensor->PartsOf(entry)});
    }
  }
  usual_records_ = found.records.size();
  return found;
}

std::string Trial::EventFileOf(const Entry &entry) const {
  const auto odd = odd_event_files_.find({entry.global_step, entry.worker});
  if (odd != odd_event_files_.end()) return odd->second;
  return format::EventFileName(entry.global_step,
                               format::WorkerToFile(worker_names_[entry.worker]));
}

Status Trial::WhyNothing(const std::string &name, int64_t step, Mode mode) {
  const MutexLock lock(mutex_);
  const auto about = [&](Code code, std::string message) {
    return Status(code, std::move(message))
        .With("tensor", name)
        .With("step", std::to_string(step))
        .With("mode", std::string(ModeName(mode)));
  };
  switch (steps_.StateOf(step, mode)) {
    case StepState::kAvailable: return NotAtStep(name, step, mode);
    case StepState::kUnavailable:
      return about(Code::kStepUnavailable,
                   StrCat(ModeName(mode), " step ", step, " was not saved by the training job"));
    case StepState::kNotYet: break;
  }
  return about(Code::kStepNotYet, StrCat(ModeName(mode), " step ", step,
                                         " was not seen yet; the training job may still save it"));
}

// Returns true if the worker has written an event file after the missing one: it will not return to
// it.
bool Trial::HasLaterEventFile(const StepEntries::Item &item) {
  const MutexLock lock(mutex_);
  return steps_.HasAfter(item.entry.global_step, item.entry.worker);
}

void AddPlaces(const StepEntries::Item &item, std::vector<RecordPlace> *places) {
  if (item.parts) {
    for (const PartedRecord::Part &part : item.parts->parts) {
      places->push_back({item.file, part.start, part.length, part.crc32c});
    }
    return;
  }
  RecordPlace place{item.file, item.entry.start, item.entry.length, {}};
  if (item.entry.has_crc32c) place.crc32c = item.entry.crc32c;
  places->push_back(std::move(place));
}

Result<ReadTensor> Trial::ReadTensorAt(const std::string &name, const StepEntries::Item &item) {
  if (item.parts) return ReadPartsAt(name, item);
  std::vector<RecordPlace> places;
  AddPlaces(item, &places);
  return ReadRecordAt(name, item, places.front());
}

Result<ReadTensor> Trial::ReadPartsAt(const std::string &name, const StepEntries::Item &item) {
  std::vector<RecordPlace> places;
  AddPlaces(item, &places);
  JoinedParts joined(name, item.parts->shape);
  for (const RecordPlace &place : places) {
    SMD_ASSIGN_OR_RETURN(const ReadTensor part, ReadRecordAt(name, item, place));
    // The memory for the whole tensor is taken only if the file is long enough for it.
    if (&place == &places.front()) {
      const RecordPlace &last = places.back();
      SMD_RETURN_IF_ERROR(
          event_files_.ReadBytes(item.file, last.start + last.length - 1, 1).GetStatus());
    }
    const Status added = joined.Add(part, places);
    if (!added.IsOk()) {
      return CorruptData(StrCat(path_, "/", item.file),
                         StrCat("record at ", place.start, ": ", added.Message()));
    }
  }
  auto whole = joined.Take();
  if (whole.IsOk()) return whole;
  return CorruptData(StrCat(path_, "/", item.file),
                     StrCat("record at ", item.entry.start, ": ", whole.GetStatus().Message()));
}

Result<ReadTensor> Trial::ReadRecordAt(const std::string &name, const StepEntries::Item &item,
                                       const RecordPlace &place) {
  for (int64_t attempt = 0;; ++attempt) {
    auto read = event_files_.Read(place);
    if (read.IsOk() || read.GetStatus().GetCode() != Code::kNotFound) return read;
    SMD_RETURN_IF_ERROR(CheckUsable());
    SMD_ASSIGN_OR_RETURN(const bool has_ended, store_->Exists(std::string(format::kEndMarker)));
    if (has_ended || attempt >= options_.missing_file_retries || HasLaterEventFile(item)) {
      once_log_.Error(StrCat(store_->Location(), "/", item.file,
                             ": the index names this file, but it is not there"));
      return NotAtStep(name, item.entry.global_step, Mode::kGlobal).With("path", item.file);
    }
    SMD_RETURN_IF_ERROR(PauseForFile(item.file, kMissingFilePause));
  }
}

}  // namespace smdebug::analyze
