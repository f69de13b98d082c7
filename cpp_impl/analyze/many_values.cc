#include "analyze/many_values.h"

#include <algorithm>
#include <optional>
#include <span>
#include <thread>

#include "analyze/value_blocks.h"
#include "base/parallel.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

// A thread costs as much as reading some tens of small values.  It pays for this many steps, or
// this many bytes.
constexpr size_t kStepsPerReader = 256;
constexpr uint64_t kBytesPerReader = uint64_t{4} << 20;

// Readers take this many steps at a time at most.
constexpr size_t kLargestChunk = 64;

// The most records that are requested from a bucket in one go.
constexpr size_t kRemoteBatch = 1024;

// Suppresses the refresh by queries.
class HoldRefresh {
 public:
  explicit HoldRefresh(Trial &trial) : trial_(trial) { trial_.Hold(); }
  ~HoldRefresh() { trial_.Release(); }
  HoldRefresh(const HoldRefresh &) = delete;
  HoldRefresh &operator=(const HoldRefresh &) = delete;

 private:
  Trial &trial_;
};

// One call of ReadValues().
class Reading {
 public:
  Reading(const Tensor &tensor, const ValueQuery &query, const std::vector<int64_t> &steps)
      : tensor_(tensor), query_(query), trial_(*tensor.GetTrial()), is_read_(steps.size()) {
    entries_ =
        trial_.FindEntries(tensor.Name(), steps, query.mode, query.worker,
                           query.reduction ? EntryKind::Of(*query.reduction) : EntryKind::Raw());
    values_.reserve(steps.size());
    for (const int64_t step : steps) values_.push_back({step, tensor::Value()});
  }

  Result<std::vector<StepValue>> Run() {
    TakeNumbers();
    if (trial_.GetEventFiles().ReadsAtOnce() > 1) {
      ReadRemote();
    } else {
      ReadInThreads();
    }
    SMD_RETURN_IF_ERROR(ReadOthers());
    return std::move(values_);
  }

 private:
  // Numbers in index files need not be read from event files.
  void TakeNumbers() {
    ValueBlocks blocks;
    blocks.Expect(entries_.size());
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i]) continue;
      auto value = blocks.ValueOf(entries_[i]->number);
      if (!value) continue;
      Keep(i, *std::move(value));
      entries_[i].reset();
    }
  }

  // Returns the number of threads that pay, with the caller's.
  size_t Readers() const {
    uint64_t bytes = 0;
    size_t records = 0;
    for (const auto &entry : entries_) {
      bytes += entry ? entry->length : 0;
      if (entry) ++records;
    }
    const uint64_t useful = std::max<uint64_t>(records / kStepsPerReader,
                                               std::min<uint64_t>(bytes / kBytesPerReader, 64));
    if (useful <= 1) return 1;  // asking for the processors opens a file
    const auto processors = std::max<size_t>(std::thread::hardware_concurrency(), 1);
    const size_t most = std::min({processors, kMostReaders, entries_.size()});
    return std::max<size_t>(std::min<uint64_t>(useful, most), 1);
  }

  // Returns true if the readers should keep the files in memory.
  bool KeepsFiles() const {
    const auto first = std::find_if(entries_.begin(), entries_.end(),
                                    [](const auto &entry) { return entry.has_value(); });
    if (first == entries_.end()) return false;
    const std::vector<RecordPlace> place = trial_.PlacesOf(std::span(first, 1));
    return trial_.GetEventFiles().BeginMany(place.front().file, entries_.size());
  }

  void ReadInThreads() {
    keeps_files_ = KeepsFiles();
    const size_t readers = Readers();
    // Neighbours in a chunk share memory.
    const size_t size = readers == 1
                            ? kLargestChunk
                            : std::clamp<size_t>(entries_.size() / (readers * 4), 1, kLargestChunk);
    InParallel((entries_.size() + size - 1) / size, readers, [&](size_t chunk) {
      if (!trial_.CheckUsable().IsOk()) return;
      ReadChunk(chunk * size, std::min((chunk + 1) * size, entries_.size()));
    });
  }

  void ReadChunk(size_t begin, size_t end) {
    const std::vector<RecordPlace> places =
        trial_.PlacesOf(std::span(entries_).subspan(begin, end - begin));
    ValueBlocks blocks;
    blocks.Expect(end - begin);
    for (size_t i = begin; i < end; ++i) {
      if (!entries_[i]) continue;
      auto read = trial_.GetEventFiles().ReadOnce(places[i - begin], &blocks, keeps_files_);
      if (read.IsOk()) Take(i, *std::move(read));
    }
  }

  void ReadRemote() {
    for (size_t begin = 0; begin < entries_.size(); begin += kRemoteBatch) {
      const size_t end = std::min(begin + kRemoteBatch, entries_.size());
      if (!trial_.CheckUsable().IsOk()) return;
      auto read = trial_.GetEventFiles().ReadAtOnce(
          trial_.PlacesOf(std::span(entries_).subspan(begin, end - begin)));
      for (size_t i = begin; i < end; ++i) {
        if (read[i - begin]) Take(i, *std::move(read[i - begin]));
      }
    }
  }

  // Keeps the value of a step if it is the right one.
  void Take(size_t i, ReadTensor read) {
    if (tensor_.IsNameOf(entries_[i]->kind, read.name)) Keep(i, std::move(read.value));
  }

  // Keeps the value of a step's entry.
  void Keep(size_t i, tensor::Value value) {
    if (query_.reduction && entries_[i]->kind == EntryKind::Raw()) {
      values_[i].value = Tensor::Reduce(value, *query_.reduction);
    } else {
      values_[i].value = std::move(value);
    }
    is_read_[i] = 1;
  }

  // Reads the remaining steps one by one, which retries, and returns the reason for each failure.
  Status ReadOthers() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_read_[i] != 0) continue;
      SMD_RETURN_IF_ERROR(trial_.CheckUsable());
      StepValue &at = values_[i];
      // The call has refreshed the trial: a step that is missing is not looked for again.
      std::optional<HoldRefresh> hold;
      if (trial_.EntriesAt(tensor_.Name(), at.step, query_.mode, query_.worker).items.empty()) {
        hold.emplace(trial_);
      }
      at.value = query_.reduction
                     ? tensor_.Reduction(at.step, query_.mode, query_.worker, *query_.reduction)
                     : tensor_.Value(at.step, query_.mode, query_.worker);
    }
    return trial_.CheckUsable();
  }

  const Tensor &tensor_;
  const ValueQuery &query_;
  Trial &trial_;
  std::vector<std::optional<Entry>> entries_;
  std::vector<StepValue> values_;
  std::vector<uint8_t> is_read_;  // not bool: threads write to neighbours
  bool keeps_files_ = false;
};

}  // namespace

Result<std::vector<StepValue>> ReadValues(const Tensor &tensor, const ValueQuery &query) {
  SMD_ASSIGN_OR_RETURN(std::vector<int64_t> steps, tensor.Steps(query.mode, false));
  const auto first = std::lower_bound(steps.begin(), steps.end(), query.first);
  const auto end = std::lower_bound(first, steps.end(), query.end);
  return Reading(tensor, query, std::vector<int64_t>(first, end)).Run();
}

}  // namespace smdebug::analyze
