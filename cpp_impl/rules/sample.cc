#include "rules/sample.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "tensor/blocks.h"

namespace smdebug::rules {
namespace {

bool IsReal(tensor::DType dtype) {
  return dtype != tensor::DType::kString && !tensor::IsComplex(dtype);
}

// What the statistics of one pass hold.
std::optional<double> FromStatistics(const tensor::Statistics &statistics,
                                     tensor::Reduction reduction) {
  using tensor::ReductionKind;
  const auto &moments = reduction.absolute ? statistics.absolute : statistics.plain;
  switch (reduction.kind) {
    case ReductionKind::kMin: return moments.min;
    case ReductionKind::kMax: return moments.max;
    case ReductionKind::kMean: return moments.mean;
    case ReductionKind::kVariance: return moments.variance;
    case ReductionKind::kStd: return std::sqrt(moments.variance);
    case ReductionKind::kSum: return moments.sum;
    case ReductionKind::kProd: return moments.prod;
    case ReductionKind::kL1: return statistics.l1;
    case ReductionKind::kL2: return statistics.l2;
    case ReductionKind::kMedian: break;
  }
  return std::nullopt;
}

}  // namespace

const tensor::View *Sample::RealElements() const {
  return elements_ && IsReal(elements_->dtype) ? &*elements_ : nullptr;
}

const tensor::Statistics *Sample::GetStatistics() const {
  if (!std::exchange(has_tried_, true) && RealElements() != nullptr) {
    auto computed = tensor::ComputeStatistics(*elements_);
    if (computed.IsOk()) statistics_ = *std::move(computed);
  }
  return statistics_ ? &*statistics_ : nullptr;
}

std::optional<double> Sample::Reduce(tensor::Reduction reduction) const {
  if (const tensor::Statistics *statistics = GetStatistics();
      statistics != nullptr && statistics->count > 0) {
    if (const auto known = FromStatistics(*statistics, reduction)) return known;
    if (!reducer_) reducer_.emplace(*elements_);
    auto computed = reducer_->Compute(reduction);
    if (!computed.IsOk()) return std::nullopt;
    auto number = tensor::ToDouble(*computed);
    return number.IsOk() ? std::optional<double>(*number) : std::nullopt;
  }
  const auto saved =
      std::find_if(reductions_.begin(), reductions_.end(),
                   [reduction](const auto &each) { return each.first == reduction; });
  return saved == reductions_.end() ? std::nullopt : std::optional<double>(saved->second);
}

std::optional<std::vector<double>> Sample::Quantiles(const std::vector<double> &qs) const {
  std::vector<double> numbers = Numbers();
  std::erase_if(numbers, [](double number) { return std::isnan(number); });
  if (numbers.empty()) return std::nullopt;
  std::vector<double> quantiles;
  for (const double q : qs) {
    const double at = q * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(at);
    const auto middle = numbers.begin() + below;
    std::nth_element(numbers.begin(), middle, numbers.end());
    const double lower = *middle;
    const double part = at - static_cast<double>(below);
    if (part == 0) {
      quantiles.push_back(lower);
    } else {
      quantiles.push_back(lower + part * (*std::min_element(middle + 1, numbers.end()) - lower));
    }
  }
  return quantiles;
}

std::optional<double> Sample::Scalar() const {
  const tensor::Statistics *statistics = GetStatistics();
  if (statistics == nullptr || statistics->count != 1) return std::nullopt;
  return statistics->plain.sum;
}

std::vector<double> Sample::Numbers() const {
  std::vector<double> numbers;
  if (RealElements() == nullptr) return numbers;
  tensor::View view = *elements_;
  AlignedBuffer compact;
  // Blocks come in the order of memory, which of a strided view is not its own.
  if (!view.IsCompact()) {
    compact = AlignedBuffer(view.ByteCount());
    tensor::CopyCompact(view, compact.Data());
    view.data = compact.Data();
    view.strides = {};
  }
  numbers.reserve(static_cast<size_t>(view.ElementCount()));
  tensor::ForEachNumberBlock(view, tensor::Part::kWhole, [&](auto &block) {
    const auto *elements = block.Numbers();
    numbers.insert(numbers.end(), elements, elements + block.Count());
  });
  return numbers;
}

bool IsOfLayer(const Sample &sample) {
  if (const tensor::View *elements = sample.Elements()) return elements->shape.size() > 1;
  return sample.Tensor().find("bias") == std::string_view::npos;
}

}  // namespace smdebug::rules
