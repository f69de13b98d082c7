#include "tensor/given_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/strings.h"

namespace smdebug::tensor {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::optional<double> Root(const std::optional<double> &square) {
  return square ? std::optional(std::sqrt(*square)) : std::nullopt;
}

std::optional<double> Magnitude(const std::optional<double> &number) {
  return number ? std::optional(std::fabs(*number)) : std::nullopt;
}

// As std::max(), but NaN wins.
double GreatestOf(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

void GivenStatistics::Derive() {
  using enum ReductionKind;
  const auto derive = [this](Reduction reduction, std::optional<double> number) {
    if (!Figure(reduction)) Figure(reduction) = number;
  };
  for (const ReductionKind norm : {kL1, kL2}) derive({norm, true}, Figure({norm, false}));
  derive({kSum, true}, Figure({kL1, false}));
  derive({kProd, true}, Magnitude(Figure({kProd, false})));
  if (!IsFloat(form.dtype) && !IsSigned(form.dtype)) {
    for (const ReductionKind kind : {kMin, kMax, kMedian, kMean, kVariance}) {
      derive({kind, true}, Figure({kind, false}));
    }
  }
  if (const auto min = Figure({kMin, false}), max = Figure({kMax, false}); min && max) {
    derive({kMax, true}, GreatestOf(std::fabs(*min), std::fabs(*max)));
  }
  for (const bool absolute : {false, true}) {
    derive({kStd, absolute}, Root(Figure({kVariance, absolute})));
  }
}

Status GivenStatistics::Check() const {
  if (form.dtype == DType::kString || IsComplex(form.dtype)) {
    return Unsupported(StrCat("statistics of ", DTypeName(form.dtype), " are not supported"));
  }
  const int64_t count = form.ElementCount();
  if (counts) {
    int64_t rest = count;
    for (const int64_t some : {counts->nan, counts->inf, counts->zero}) {
      if (some < 0 || some > rest) {
        return InvalidArgument(StrCat("the counts of NaN, infinite and zero elements (",
                                      counts->nan, ", ", counts->inf, ", ", counts->zero,
                                      ") do not fit a tensor of ", count, " elements"));
      }
      rest -= some;
    }
  }
  if (sample && sample->ElementCount() > count) {
    return InvalidArgument(StrCat("the sample has ", sample->ElementCount(),
                                  " elements, but the tensor has only ", count));
  }
  return Status::Ok();
}

bool GivenStatistics::HasElements() const {
  return sample && sample->ElementCount() == form.ElementCount();
}

View GivenStatistics::Elements() const {
  View elements = form;
  elements.data = sample->data;
  return elements;
}

std::optional<Statistics> GivenStatistics::ToStatistics() const {
  using enum ReductionKind;
  const auto moments = [this](bool absolute) {
    const auto of = [&](ReductionKind kind) { return Figure({kind, absolute}).value_or(kNan); };
    return Statistics::Moments{of(kMin), of(kMax), of(kMean), of(kVariance), of(kSum)};
  };
  const bool is_complete = counts && Figure({kMax, true}) && Figure({kVariance, false}) &&
                           Figure({kSum, false}) && Figure({kL1, false}) && Figure({kL2, false});
  if (!is_complete) return {};
  Statistics statistics;
  statistics.count = form.ElementCount();
  statistics.nan_count = counts->nan;
  statistics.inf_count = counts->inf;
  statistics.zero_count = counts->zero;
  statistics.plain = moments(false);
  statistics.absolute = moments(true);
  statistics.l1 = *Figure({kL1, false});
  statistics.l2 = *Figure({kL2, false});
  return statistics;
}

Value GivenStatistics::Reduced(Reduction reduction) const {
  return ReductionValue(form.dtype, reduction.kind, *Figure(reduction));
}

}  // namespace smdebug::tensor
