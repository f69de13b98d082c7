// Implements the part of WholeTensor that merges reductions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "analyze/whole_tensor.h"
#include "base/strings.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

using tensor::DType;
using tensor::ReductionKind;

// Reductions of equal elements on an accelerator may differ by rounding.
constexpr double kRounding = 1e-6;

bool AreNear(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

bool IsTotal(ReductionKind kind) {
  return kind == ReductionKind::kSum || kind == ReductionKind::kProd || kind == ReductionKind::kL1;
}

tensor::Value Number(double number) { return tensor::Value::Scalar(DType::kFloat64, number); }

// Totals of integers wrap around, as those of the whole would.
std::optional<tensor::Value> IntegerTotal(const std::vector<tensor::Value> &parts,
                                          ReductionKind kind) {
  const DType dtype = parts.front().dtype;
  if (dtype != DType::kInt64 && dtype != DType::kUInt64) return {};
  const bool multiplies = kind == ReductionKind::kProd;
  uint64_t total = multiplies ? 1 : 0;
  for (const tensor::Value &part : parts) {
    uint64_t bits = 0;
    if (part.dtype != dtype || part.size != sizeof bits) return {};
    std::memcpy(&bits, part.data.get(), sizeof bits);
    total = multiplies ? total * bits : total + bits;
  }
  return tensor::Value::Scalar(dtype, total);
}

double TotalOf(const std::vector<double> &parts, ReductionKind kind) {
  double total = kind == ReductionKind::kProd ? 1 : 0;
  for (const double part : parts) {
    if (kind == ReductionKind::kProd) {
      total *= part;
    } else if (kind == ReductionKind::kL2) {
      total = std::hypot(total, part);  // squares may overflow
    } else {
      total += part;
    }
  }
  return total;
}

// Returns the index of the extreme, or of a NaN.
size_t ExtremeOf(const std::vector<double> &parts, ReductionKind kind) {
  size_t best = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (std::isnan(parts[i])) return i;
    const bool is_better =
        kind == ReductionKind::kMin ? parts[i] < parts[best] : parts[i] > parts[best];
    if (is_better) best = i;
  }
  return best;
}

std::string_view MergedFrom(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::kVariance:
    case ReductionKind::kStd: return "'mean', and 'variance' or 'std'";
    default: return "the same of each part";
  }
}

}  // namespace

Status WholeTensor::CannotMerge(tensor::Reduction wanted, const std::string &worker) const {
  const std::string name = tensor::ReductionName(wanted);
  const std::string what = wanted.kind == ReductionKind::kMedian
                               ? StrCat(" has not saved its elements, and the '", name,
                                        "' of a whole does not follow from those of its parts")
                               : StrCat(" has saved neither its elements nor what '", name,
                                        "' is merged from: ", MergedFrom(wanted.kind),
                                        wanted.absolute ? ", of the absolute values" : "");
  return Status(Code::kWrongState,
                StrCat(Place(), ": ", worker, what, "; save the raw value",
                       wanted.kind == ReductionKind::kMedian ? "" : " or these reductions"))
      .With("tensor", tensor_.Name())
      .With("step", std::to_string(step_))
      .With("mode", std::string(ModeName(mode_)))
      .With("reduction", name);
}

Result<tensor::Value> WholeTensor::ReductionOf(const Part &part,
                                               tensor::Reduction reduction) const {
  return tensor_.Reduction(step_, mode_, part.workers.front(), reduction);
}

Result<std::vector<tensor::Value>> WholeTensor::Saved(tensor::Reduction reduction,
                                                      tensor::Reduction wanted) const {
  std::vector<tensor::Value> saved;
  for (const Part &part : parts_) {
    Result<tensor::Value> value = ReductionOf(part, reduction);
    if (value.GetStatus().GetCode() == Code::kValueUnavailable) {
      return CannotMerge(wanted, part.workers.front());
    }
    SMD_RETURN_IF_ERROR(value.GetStatus());
    if (tensor::IsComplex(value->dtype)) {
      return Status(Code::kUnsupported,
                    StrCat(Place(), ": '", tensor::ReductionName(wanted),
                           "' of complex parts cannot be merged; save the raw value"));
    }
    saved.push_back(*std::move(value));
  }
  return saved;
}

Result<std::vector<double>> WholeTensor::SavedNumbers(tensor::Reduction reduction,
                                                      tensor::Reduction wanted) const {
  SMD_ASSIGN_OR_RETURN(const std::vector<tensor::Value> saved, Saved(reduction, wanted));
  std::vector<double> numbers;
  for (const tensor::Value &value : saved) {
    SMD_ASSIGN_OR_RETURN(const double number, tensor::ToDouble(value));
    numbers.push_back(number);
  }
  return numbers;
}

Result<std::vector<double>> WholeTensor::SavedVariances(tensor::Reduction wanted) const {
  const bool absolute = wanted.absolute;
  auto found = SavedNumbers({ReductionKind::kVariance, absolute}, wanted);
  if (found.IsOk() || found.GetStatus().GetCode() != Code::kWrongState) return found;
  SMD_ASSIGN_OR_RETURN(std::vector<double> numbers,
                       SavedNumbers({ReductionKind::kStd, absolute}, wanted));
  for (double &number : numbers) number *= number;
  return numbers;
}

Result<double> WholeTensor::MergeMean(tensor::Reduction wanted) const {
  SMD_ASSIGN_OR_RETURN(const std::vector<double> means,
                       SavedNumbers({ReductionKind::kMean, wanted.absolute}, wanted));
  double mean = 0;
  const auto whole = static_cast<double>(parts_.front().placement->WholeCount());
  for (size_t i = 0; i < parts_.size(); ++i) {
    mean += static_cast<double>(parts_[i].placement->ElementCount()) / whole * means[i];
  }
  return mean;
}

// By Chan's formula: the squares within the parts and those between their means.
Result<double> WholeTensor::MergeVariance(tensor::Reduction wanted) const {
  SMD_ASSIGN_OR_RETURN(const double mean, MergeMean(wanted));
  SMD_ASSIGN_OR_RETURN(const std::vector<double> means,
                       SavedNumbers({ReductionKind::kMean, wanted.absolute}, wanted));
  SMD_ASSIGN_OR_RETURN(const std::vector<double> variances, SavedVariances(wanted));
  double variance = 0;
  const auto whole = static_cast<double>(parts_.front().placement->WholeCount());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const double away = means[i] - mean;
    const auto count = static_cast<double>(parts_[i].placement->ElementCount());
    variance += count / whole * (variances[i] + away * away);
  }
  return variance;
}

Result<tensor::Value> WholeTensor::Merge(tensor::Reduction reduction) const {
  const ReductionKind kind = reduction.kind;
  if (kind == ReductionKind::kMedian) {
    return CannotMerge(reduction, parts_.front().workers.front());
  }
  if (kind == ReductionKind::kMean) {
    SMD_ASSIGN_OR_RETURN(const double mean, MergeMean(reduction));
    return Number(mean);
  }
  if (kind == ReductionKind::kVariance || kind == ReductionKind::kStd) {
    SMD_ASSIGN_OR_RETURN(const double variance, MergeVariance(reduction));
    return Number(kind == ReductionKind::kStd ? std::sqrt(variance) : variance);
  }
  SMD_ASSIGN_OR_RETURN(std::vector<tensor::Value> saved, Saved(reduction, reduction));
  SMD_ASSIGN_OR_RETURN(const std::vector<double> numbers, SavedNumbers(reduction, reduction));
  if (kind == ReductionKind::kMin || kind == ReductionKind::kMax) {
    tensor::Value extreme = std::move(saved[ExtremeOf(numbers, kind)]);
    extreme.shape.clear();
    return extreme;
  }
  if (IsTotal(kind)) {
    if (auto total = IntegerTotal(saved, kind)) return *std::move(total);
  }
  return Number(TotalOf(numbers, kind));
}

// Variance and standard deviation follow from each other.
Result<tensor::Value> WholeTensor::ReductionOfWorker(const std::string &worker,
                                                     tensor::Reduction reduction) const {
  auto value = tensor_.Reduction(step_, mode_, worker, reduction);
  if (value.GetStatus().GetCode() != Code::kValueUnavailable) return value;
  const bool is_std = reduction.kind == ReductionKind::kStd;
  if (is_std || reduction.kind == ReductionKind::kVariance) {
    const ReductionKind other = is_std ? ReductionKind::kVariance : ReductionKind::kStd;
    const auto found = tensor_.Reduction(step_, mode_, worker, {other, reduction.absolute});
    if (found.IsOk()) {
      SMD_ASSIGN_OR_RETURN(const double number, tensor::ToDouble(*found));
      return Number(is_std ? std::sqrt(number) : number * number);
    }
  }
  return CannotMerge(reduction, worker);
}

Status WholeTensor::CheckReplicasAgree(tensor::Reduction reduction) const {
  const std::vector<std::string> &workers = parts_.front().workers;
  std::optional<double> first;
  for (const std::string &worker : workers) {
    SMD_ASSIGN_OR_RETURN(const tensor::Value value, ReductionOfWorker(worker, reduction));
    SMD_ASSIGN_OR_RETURN(const double number, tensor::ToDouble(value));
    if (!first) first = number;
    if (AreNear(*first, number)) continue;
    return Wrong(StrCat("'", tensor::ReductionName(reduction), "' of ", workers.front(), " and ",
                        worker, " differs, and they have not saved how they fit together; read ",
                        "the reduction of one worker"));
  }
  return Status::Ok();
}

Result<tensor::Value> WholeTensor::Reduction(tensor::Reduction reduction) const {
  if (!HasPlacements()) SMD_RETURN_IF_ERROR(CheckReplicasAgree(reduction));
  // One part is the whole.
  if (parts_.size() == 1) return ReductionOfWorker(parts_.front().workers.front(), reduction);
  SMD_ASSIGN_OR_RETURN(const bool has_elements, HasElements());
  if (!has_elements) return Merge(reduction);
  SMD_ASSIGN_OR_RETURN(const tensor::Value whole, Value());
  return tensor::Reducer(whole.AsView(), tensor::Reducer::Halves::kAsNumpy).Compute(reduction);
}

}  // namespace smdebug::analyze
