#include "rules/support/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/bytes.h"
#include "tensor/blocks.h"
#include "tensor/product.h"

namespace smdebug::rules {
namespace {

bool IsReal(tensor::DType dtype) {
  return dtype != tensor::DType::kString && !tensor::IsComplex(dtype);
}

// Returns the reduction if one-pass statistics contain it.
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
    case ReductionKind::kL1: return statistics.l1;
    case ReductionKind::kL2: return statistics.l2;
    case ReductionKind::kProd:
    case ReductionKind::kMedian: break;
  }
  return std::nullopt;
}

// Scales statistics of finite elements to `count` elements of the same kind.
tensor::Statistics ScaledTo(int64_t count, tensor::Statistics statistics) {
  const double factor = static_cast<double>(count) / static_cast<double>(statistics.count);
  statistics.count = count;
  statistics.zero_count = std::llround(static_cast<double>(statistics.zero_count) * factor);
  statistics.plain.sum *= factor;
  statistics.absolute.sum *= factor;
  statistics.l1 *= factor;
  statistics.l2 *= std::sqrt(factor);
  return statistics;
}

std::vector<double> NumbersOf(tensor::View view) {
  AlignedBuffer compact;
  // Blocks come in memory order, which differs from the order of a strided view.
  if (!view.IsCompact()) {
    compact = AlignedBuffer(view.ByteCount());
    tensor::CopyCompact(view, compact.Data());
    view.data = compact.Data();
    view.strides = {};
  }
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(view.ElementCount()));
  tensor::ForEachNumberBlock(view, tensor::Part::kWhole, [&](auto &block) {
    const auto *elements = block.Numbers();
    numbers.insert(numbers.end(), elements, elements + block.Count());
  });
  return numbers;
}

}  // namespace

Sample Sample::Estimated(int64_t most) const {
  Sample estimated(place_, worker_, tensor_);
  estimated.number_ = number_;
  estimated.placement_ = placement_;
  estimated.elements_ = elements_;
  estimated.texts_ = texts_;
  estimated.saved_ = saved_;
  estimated.is_saved_ = is_saved_;
  if (most > 0 && RealElements() != nullptr && elements_->ElementCount() > most) {
    estimated.whole_ = this;
    estimated.most_ = most;
  }
  return estimated;
}

void Sample::SetGiven(const tensor::GivenStatistics &given) {
  given_ = &given;
  has_tried_ = true;
  statistics_ = given.ToStatistics();
  for (size_t i = 0; i < tensor::kReductions; ++i) {
    if (given.figures[i]) AddReduction(tensor::Reduction::FromIndex(i), *given.figures[i]);
  }
}

const tensor::View *Sample::RealElements() const {
  return elements_ && IsReal(elements_->dtype) ? &*elements_ : nullptr;
}

void Sample::Compute() const {
  if (std::exchange(has_tried_, true) || RealElements() == nullptr) return;
  if (whole_ != nullptr) some_.emplace(*elements_, most_);
  auto computed = tensor::ComputeStatistics(Figured());
  if (!computed.IsOk()) return;
  statistics_ = *std::move(computed);
  if (whole_ == nullptr) return;
  const bool is_telling = statistics_->nan_count + statistics_->inf_count == 0 &&
                          statistics_->zero_count < statistics_->count;
  if (is_telling) {
    statistics_ = ScaledTo(elements_->ElementCount(), *statistics_);
  } else {
    some_.reset();
  }
}

const Sample *Sample::Exact() const {
  Compute();
  return whole_ != nullptr && !some_ ? whole_ : nullptr;
}

const tensor::Statistics *Sample::GetStatistics() const {
  if (const Sample *exact = Exact()) return exact->GetStatistics();
  return statistics_ ? &*statistics_ : nullptr;
}

std::optional<double> Sample::ReduceElements(tensor::Reduction reduction) const {
  if (const Sample *exact = Exact()) return exact->Reduce(reduction);
  if (whole_ != nullptr && reduction.kind == tensor::ReductionKind::kProd) {
    return whole_->Reduce(reduction);
  }
  if (const tensor::Statistics *statistics = GetStatistics();
      given_ == nullptr && statistics != nullptr && statistics->count > 0) {
    if (const auto known = FromStatistics(*statistics, reduction)) return known;
    if (reduction.kind == tensor::ReductionKind::kProd) {
      const double product = tensor::ProductOf(Figured(), tensor::Part::kWhole, *statistics);
      return reduction.absolute ? std::fabs(product) : product;
    }
    if (!reducer_) reducer_.emplace(Figured());
    auto computed = reducer_->Compute(reduction);
    if (!computed.IsOk()) return std::nullopt;
    auto number = tensor::ToDouble(*computed);
    return number.IsOk() ? std::optional<double>(*number) : std::nullopt;
  }
  return Saved(reduction);
}

std::optional<std::vector<double>> Sample::Quantiles(const std::vector<double> &qs) const {
  if (const Sample *exact = Exact()) return exact->Quantiles(qs);
  if (RealElements() == nullptr) return std::nullopt;
  std::vector<double> numbers = NumbersOf(Figured());
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
  return RealElements() == nullptr ? std::vector<double>() : NumbersOf(*elements_);
}

std::vector<double> Sample::SomeNumbers(int64_t most) const {
  const bool is_given = given_ != nullptr && given_->sample;
  const tensor::View *elements = is_given ? &*given_->sample : RealElements();
  if (elements == nullptr) return {};
  const int64_t count = tensor::SpreadCount(*elements, most);
  const size_t bytes = static_cast<size_t>(count) * tensor::DTypeSize(elements->dtype);
  // For a small sample, memory of the heap would take longer than all else.
  alignas(std::max_align_t) std::array<std::byte, 4096> near;
  AlignedBuffer far(bytes <= near.size() ? 0 : bytes);
  std::byte *to = bytes <= near.size() ? near.data() : far.Data();
  tensor::CopySpread(*elements, most, to);
  return NumbersOf({to, {&count, 1}, {}, elements->dtype});
}

bool IsOfLayer(const Sample &sample) {
  const std::string_view name = sample.Tensor();
  // Biases of attention in Keras have two axes.
  if (name.substr(name.find_last_of("/.") + 1).find("bias") != std::string_view::npos) return false;
  const tensor::View *form = sample.Form();
  return form == nullptr || form->ElementCount() == 1 || form->shape.size() > 1;
}

}  // namespace smdebug::rules
