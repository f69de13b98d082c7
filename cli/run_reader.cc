#include "run_reader.h"

#include <algorithm>
#include <utility>

#include "elements.h"
#include "run_tolerance.h"
#include "saved.h"

namespace smdebug::cli {
namespace {

// Merged from those of the parts, if each worker holds one.
constexpr const char *kMerged[] = {"l2", "l1", "std", "mean", "min", "max"};

void TakeNumbers(const Value &value, RunPart *part) {
  const ElementReader reader(value);
  part->shape = value.Shape();
  part->has_numbers = true;
  part->are_whole = value.DType() >= DType::kInt8 && value.DType() <= DType::kUInt64;
  const size_t each = reader.AreComplex() ? 2 : 1;
  if (each == 2) part->shape.push_back(2);
  part->numbers.resize(reader.Size() * each);
  for (size_t i = 0; i < reader.Size(); ++i) {
    part->numbers[i * each] = static_cast<double>(reader.Number(i));
    if (each == 2) part->numbers[i * each + 1] = static_cast<double>(reader.Imaginary(i));
  }
}

}  // namespace

const Tensor &RunReader::TensorOf(const std::string &name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  return tensors_.emplace(name, trial_.Tensor(name)).first->second;
}

// Returns false if the workers' parts do not make a whole.
bool RunReader::AddWhole(const Tensor &tensor, int64_t step, RunParts *parts) const {
  RunPart part;
  try {
    TakeNumbers(tensor.FullValue(step, mode_), &part);
  } catch (const Error &error) {
    if (error.Code() == SMD_WRONG_STATE) return false;
    if (error.Code() != SMD_VALUE_UNAVAILABLE) throw;
    for (const char *name : kMerged) {
      try {
        part.reductions[name] = tensor.FullReduction(step, name, false, mode_).ToDouble();
      } catch (const Error &other) {
        const smd_code code = other.Code();
        if (code != SMD_WRONG_STATE && code != SMD_UNSUPPORTED && code != SMD_VALUE_UNAVAILABLE) {
          throw;
        }
      }
    }
  }
  parts->push_back(std::move(part));
  return true;
}

void RunReader::Add(const RunTensor &tensor, const std::string &name, int64_t step,
                    RunParts *parts) {
  const Tensor &saved = TensorOf(name);
  std::vector<std::string> workers = saved.Workers(step, mode_);
  if (workers.empty()) return;
  if (saved.Placement(workers.front())) {
    if (!AddWhole(saved, step, parts)) parts->clear();
    return;
  }
  const bool has_replicas = tensor.kind != RunKind::kActivation && tensor.kind != RunKind::kLoss;
  if (has_replicas) workers.resize(1);
  for (size_t i = 0; i < workers.size(); ++i) {
    const Saved at = SavedAt(saved, step, mode_, workers[i]);
    RunPart part;
    part.worker = i;
    if (at.value && at.value->DType() == DType::kString) continue;
    if (at.value) {
      TakeNumbers(*at.value, &part);
    } else {
      for (const std::string &reduction : at.reductions) {
        const std::optional<double> number = NumberAt(saved, step, reduction, mode_, workers[i]);
        if (number) part.reductions[reduction] = *number;
      }
    }
    parts->push_back(std::move(part));
  }
}

RunParts RunReader::Read(const RunTensor &tensor, int64_t step) {
  RunParts parts;
  const bool is_whole = arguments_.Try(trial_, [&] {
    for (const std::string &name : tensor.recorded) Add(tensor, name, step, &parts);
  });
  if (!is_whole) return {};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const RunPart &a, const RunPart &b) { return a.worker < b.worker; });
  return parts;
}

double RunReader::CoarsestUnit(int64_t step, std::string *dtype) {
  double coarsest = 0;
  for (const std::string &name : trial_.RecordedNames(step, mode_)) {
    Saved saved;
    if (!arguments_.Try(trial_, [&] { saved = SavedAt(TensorOf(name), step, mode_); })) continue;
    const double unit = RoundingUnit(saved.dtype);
    if (unit <= coarsest || saved.dtype.starts_with("float8")) continue;
    coarsest = unit;
    *dtype = saved.dtype;
  }
  if (coarsest == 0) *dtype = "float32";
  return RoundingUnit(*dtype);
}

}  // namespace smdebug::cli
