#include "analyze/tensor.h"

#include <algorithm>

#include "analyze/value_blocks.h"
#include "base/strings.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

using Items = std::vector<StepEntries::Item>;

const StepEntries::Item *FindKind(const Items &items, EntryKind kind) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const auto &item) { return item.entry.kind == kind; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

Result<Tensor> Tensor::Find(std::shared_ptr<Trial> trial, std::string name) {
  SMD_RETURN_IF_ERROR(trial->CheckTensor(name));
  return Tensor(std::move(trial), std::move(name));
}

Result<std::vector<int64_t>> Tensor::PreviousSteps(int64_t step, int64_t count, Mode mode) const {
  SMD_ASSIGN_OR_RETURN(std::vector<int64_t> steps, Steps(mode, false));
  steps.erase(std::upper_bound(steps.begin(), steps.end(), step), steps.end());
  const auto wanted = static_cast<size_t>(std::max<int64_t>(count, 0));
  if (wanted > 0 && steps.size() > wanted) {
    steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(wanted));
  }
  return steps;
}

Result<std::vector<std::string>> Tensor::Workers(int64_t step, Mode mode) const {
  SMD_RETURN_IF_ERROR(trial_->MaybeRefresh());
  std::vector<std::string> workers;
  for (const StepEntries::Item &item : trial_->EntriesAt(name_, step, mode).items) {
    if (workers.empty() || workers.back() != item.worker) workers.push_back(item.worker);
  }
  if (!workers.empty()) return workers;
  return Status(Code::kValueUnavailable,
                StrCat("no worker saved tensor '", name_, "' at ", ModeName(mode), " step ", step))
      .With("tensor", name_)
      .With("step", std::to_string(step))
      .With("mode", std::string(ModeName(mode)));
}

Result<Items> Tensor::At(int64_t step, Mode mode, const std::string &worker) const {
  SMD_RETURN_IF_ERROR(trial_->Load());
  Items items = trial_->EntriesAt(name_, step, mode, worker).items;
  if (!items.empty()) return items;
  SMD_RETURN_IF_ERROR(trial_->MaybeRefresh());
  items = trial_->EntriesAt(name_, step, mode, worker).items;
  if (!items.empty()) return items;
  if (trial_->EntriesAt(name_, step, mode).items.empty()) {
    return trial_->WhyNothing(name_, step, mode);
  }
  return Status(Code::kWorkerUnknown, StrCat("worker '", worker, "' did not save tensor '", name_,
                                             "' at ", ModeName(mode), " step ", step))
      .With("worker", worker)
      .With("tensor", name_);
}

bool Tensor::IsNameOf(EntryKind kind, const std::string &record) const {
  const std::optional<tensor::Reduction> reduction = kind.AsReduction();
  if (!reduction) return record == name_;
  const auto saved = tensor::ParseReductionTensorName(record);
  return saved && saved->reduction == *reduction && saved->tensor == name_;
}

Result<tensor::Value> Tensor::Reduce(const tensor::Value &value, tensor::Reduction reduction) {
  return tensor::Reducer(value.AsView(), tensor::Reducer::Halves::kAsNumpy).Compute(reduction);
}

Result<std::optional<tensor::Value>> Tensor::TryRead(int64_t step, Mode mode,
                                                     const std::string &worker,
                                                     EntryKind kind) const {
  SMD_RETURN_IF_ERROR(trial_->Load());
  auto found = trial_->ValueOrPlaceAt(name_, step, mode, worker, kind);
  if (!found) return std::optional<tensor::Value>();
  if (auto *known = std::get_if<tensor::Value>(&*found)) return std::optional(std::move(*known));
  auto read = trial_->GetEventFiles().Read(std::get<RecordPlace>(*found));
  if (!read.IsOk() && read.GetStatus().GetCode() != Code::kNotFound) return read.GetStatus();
  if (!read.IsOk() || !IsNameOf(kind, read->name)) return std::optional<tensor::Value>();
  return std::optional(std::move(read->value));
}

Result<tensor::Value> Tensor::Read(const StepEntries::Item &item) const {
  if (auto known = ValueBlocks().ValueOf(item.entry.number)) return *std::move(known);
  SMD_ASSIGN_OR_RETURN(ReadTensor read, trial_->ReadTensorAt(name_, item));
  if (IsNameOf(item.entry.kind, read.name)) return std::move(read.value);
  return CorruptData(StrCat(trial_->Path(), "/", item.file),
                     StrCat("record at ", item.entry.start, ": holds '", read.name,
                            "' where the index says '", name_, "'"));
}

Status Tensor::NoValue(int64_t step, Mode mode, const Items &items) const {
  const bool has_reductions = std::any_of(items.begin(), items.end(), [](const auto &item) {
    return item.entry.kind.AsReduction().has_value();
  });
  return Status(Code::kValueUnavailable,
                StrCat("tensor '", name_, "' has no value at ", ModeName(mode), " step ", step,
                       has_reductions ? ", only reductions were saved" : ""))
      .With("tensor", name_)
      .With("step", std::to_string(step))
      .With("mode", std::string(ModeName(mode)))
      .With("has_reductions", has_reductions ? "1" : "0");
}

Result<tensor::Value> Tensor::Value(int64_t step, Mode mode, const std::string &worker) const {
  SMD_ASSIGN_OR_RETURN(std::optional<tensor::Value> fast,
                       TryRead(step, mode, worker, EntryKind::Raw()));
  if (fast) return *std::move(fast);
  SMD_ASSIGN_OR_RETURN(const Items items, At(step, mode, worker));
  const StepEntries::Item *raw = FindKind(items, EntryKind::Raw());
  return raw == nullptr ? NoValue(step, mode, items) : Read(*raw);
}

Status Tensor::AddPlace(int64_t step, Mode mode, const std::string &worker,
                        std::vector<RecordPlace> *places) const {
  SMD_ASSIGN_OR_RETURN(const Items items, At(step, mode, worker));
  const StepEntries::Item *raw = FindKind(items, EntryKind::Raw());
  if (raw == nullptr) return NoValue(step, mode, items);
  AddPlaces(*raw, places);
  return Status::Ok();
}

Status Tensor::AddPlaceToRead(int64_t step, Mode mode, std::vector<RecordPlace> *places) const {
  SMD_RETURN_IF_ERROR(trial_->Load());
  const auto found = trial_->ValueOrPlaceAt(name_, step, mode, "", EntryKind::Raw());
  if (found && std::holds_alternative<tensor::Value>(*found)) return Status::Ok();
  return AddPlace(step, mode, "", places);
}

Result<std::vector<int64_t>> Tensor::Shape(int64_t step, Mode mode,
                                           const std::string &worker) const {
  SMD_ASSIGN_OR_RETURN(const Items items, At(step, mode, worker));
  if (const StepEntries::Item *shape = FindKind(items, EntryKind::Shape())) return shape->shape;
  if (const StepEntries::Item *raw = FindKind(items, EntryKind::Raw())) {
    if (raw->parts) return raw->parts->shape;
    const Result<tensor::Value> value = Read(*raw);
    if (value.IsOk()) return value->shape;
    // Without its event file the tensor has no shape here, and the caller requested one.
    if (value.GetStatus().GetCode() != Code::kValueUnavailable) return value.GetStatus();
  }
  return Status(Code::kShapeUnavailable,
                StrCat("tensor '", name_, "' has neither shape nor value at ", ModeName(mode),
                       " step ", step))
      .With("tensor", name_)
      .With("step", std::to_string(step))
      .With("mode", std::string(ModeName(mode)));
}

Result<tensor::Value> Tensor::Reduction(int64_t step, Mode mode, const std::string &worker,
                                        tensor::Reduction reduction) const {
  SMD_ASSIGN_OR_RETURN(std::optional<tensor::Value> fast,
                       TryRead(step, mode, worker, EntryKind::Of(reduction)));
  if (fast) return *std::move(fast);
  SMD_ASSIGN_OR_RETURN(const Items items, At(step, mode, worker));
  if (const StepEntries::Item *saved = FindKind(items, EntryKind::Of(reduction))) {
    return Read(*saved);
  }
  const StepEntries::Item *raw = FindKind(items, EntryKind::Raw());
  if (raw == nullptr) return NoValue(step, mode, items);
  SMD_ASSIGN_OR_RETURN(const tensor::Value value, Read(*raw));
  return Reduce(value, reduction);
}

Result<std::vector<tensor::Reduction>> Tensor::Reductions(int64_t step, Mode mode,
                                                          const std::string &worker) const {
  SMD_ASSIGN_OR_RETURN(const Items items, At(step, mode, worker));
  std::vector<tensor::Reduction> reductions;
  for (const StepEntries::Item &item : items) {
    if (const auto reduction = item.entry.kind.AsReduction()) reductions.push_back(*reduction);
  }
  return reductions;
}

}  // namespace smdebug::analyze
