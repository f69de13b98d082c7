#include "tensor/statistics.h"

#include <cmath>
#include <complex>
#include <limits>

#include "base/strings.h"
#include "tensor/blocks.h"
#include "tensor/exact.h"
#include "tensor/median.h"
#include "tensor/product.h"
#include "tensor/small_float.h"
#include "tensor/summary.h"

namespace smdebug::tensor {
namespace {

// Up to this bound every integer, and every partial sum of integers, is exact in double.
constexpr double kExactIntegers = 0x1p53;

// Returns the number in the type of reductions of a real floating-point tensor.
Value Rounded(DType dtype, double number) {
  if (dtype == DType::kFloat64) return Value::Scalar(dtype, number);
  return Value::Scalar(DType::kFloat32, static_cast<float>(number));
}

// Returns the number as float16, as NumPy does, or as float32 if it exceeds float16's range.
Value RoundedToHalf(double number) {
  const auto bits = static_cast<uint16_t>(EncodeSmallFloat(kFloat16Format, number));
  const bool fits = std::isinf(DecodeSmallFloat(kFloat16Format, bits)) == std::isinf(number);
  return fits ? Value::Scalar(DType::kFloat16, bits) : Rounded(DType::kFloat32, number);
}

// Returns a scalar of an integer type or bool from the low bytes of `bits`.
Value Integer(DType dtype, uint64_t bits) {
  const auto *bytes = reinterpret_cast<const char *>(&bits);
  return Value::CopyOf(dtype, AsBytes({bytes, DTypeSize(dtype)}), {});
}

// Returns the integer that the double holds, as 64 bits.
uint64_t BitsOf(double number) {
  return number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number))
                    : static_cast<uint64_t>(number);
}

DType RealPartOf(DType dtype) {
  return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}

Value Complex(DType dtype, std::complex<double> number) {
  if (dtype == DType::kComplex128) return Value::Scalar(dtype, number);
  return Value::Scalar(dtype, std::complex<float>(static_cast<float>(number.real()),
                                                  static_cast<float>(number.imag())));
}

bool NeedsOrder(ReductionKind kind) {
  return kind == ReductionKind::kMin || kind == ReductionKind::kMax ||
         kind == ReductionKind::kMedian;
}

double LeastInteger(DType dtype) {
  return -std::ldexp(1, static_cast<int>(8 * DTypeSize(dtype)) - 1);
}

// Returns true if an integer dtype, or bool, can hold the whole number.
bool FitsInteger(DType dtype, double number) {
  if (dtype == DType::kBool) return number == 0 || number == 1;
  const double least = IsSigned(dtype) ? LeastInteger(dtype) : 0;
  const int bits = static_cast<int>(8 * DTypeSize(dtype)) - (IsSigned(dtype) ? 1 : 0);
  return number >= least && number < std::ldexp(1, bits);
}

}  // namespace

Result<Statistics> ComputeStatistics(const View &view) {
  if (DTypeSize(view.dtype) == 0) return Unsupported("text has no statistics");
  if (IsComplex(view.dtype)) {
    return Unsupported(StrCat("statistics of ", DTypeName(view.dtype), " are not supported"));
  }
  return Summarize(view, Part::kWhole);
}

Value ReductionValue(DType dtype, ReductionKind kind, double number) {
  if (IsFloat(dtype)) return Rounded(dtype, number);
  const bool is_total = kind == ReductionKind::kSum || kind == ReductionKind::kProd;
  const bool is_element = kind == ReductionKind::kMin || kind == ReductionKind::kMax;
  if (is_total) dtype = IsUnsigned(dtype) ? DType::kUInt64 : DType::kInt64;
  const bool fits = std::fabs(number) < kExactIntegers && number == std::trunc(number) &&
                    FitsInteger(dtype, number);
  if ((!is_total && !is_element) || !fits) return Rounded(DType::kFloat64, number);
  return Integer(dtype, BitsOf(number));
}

Result<Value> Reducer::Compute(Reduction reduction) {
  const DType dtype = view_.dtype;
  if (DTypeSize(dtype) == 0) return Unsupported("text cannot be reduced");
  if (NeedsOrder(reduction.kind)) {
    if (IsComplex(dtype) && !reduction.absolute && reduction.kind == ReductionKind::kMedian) {
      return Unsupported("complex numbers have no median");
    }
    if (view_.ElementCount() == 0) {
      return InvalidArgument(
          StrCat(ReductionKindName(reduction.kind), " needs at least one element"));
    }
  }
  if (IsComplex(dtype)) return ComputeComplex(reduction);
  if (IsFloat(dtype)) {
    const double number = Number(Part::kWhole, reduction);
    if (dtype == DType::kFloat16 && halves_ == Halves::kAsNumpy) return RoundedToHalf(number);
    return Rounded(dtype, number);
  }
  return ComputeInteger(reduction);
}

Value Reducer::ComputeComplex(Reduction reduction) {
  const DType real = RealPartOf(view_.dtype);
  const auto both = [&](ReductionKind kind) {
    return std::complex<double>(Number(Part::kReal, {kind}), Number(Part::kImaginary, {kind}));
  };
  if (reduction.kind == ReductionKind::kL2) {
    const std::complex<double> norms = both(ReductionKind::kL2);
    return Rounded(real, std::isnan(norms.real()) ? norms.real() : std::abs(norms));
  }
  if (reduction.absolute || reduction.kind == ReductionKind::kL1) {
    return Rounded(real, Number(Part::kMagnitude, {reduction.kind}));
  }
  switch (reduction.kind) {
    case ReductionKind::kProd: return Complex(view_.dtype, ComplexProduct(view_));
    case ReductionKind::kMin:
    case ReductionKind::kMax:
      return Complex(view_.dtype, ComplexExtreme(view_, reduction.kind == ReductionKind::kMax));
    case ReductionKind::kVariance:
    case ReductionKind::kStd: {
      const std::complex<double> variances = both(ReductionKind::kVariance);
      const double variance = variances.real() + variances.imag();
      return Rounded(real, reduction.kind == ReductionKind::kStd ? std::sqrt(variance) : variance);
    }
    default: return Complex(view_.dtype, both(reduction.kind));
  }
}

Value Reducer::ComputeInteger(Reduction reduction) {
  reduction.absolute &= IsSigned(view_.dtype);
  switch (reduction.kind) {
    case ReductionKind::kMin:
    case ReductionKind::kMax: return IntegerExtreme(reduction);
    case ReductionKind::kSum:
    case ReductionKind::kProd: return IntegerTotal(reduction);
    case ReductionKind::kL1:
    case ReductionKind::kL2: break;
    default:
      if (!Wraps(reduction)) break;
      const Value absolute = AbsoluteIntegers(view_);
      return Reducer(absolute.AsView()).ComputeInteger({reduction.kind});
  }
  return Rounded(DType::kFloat64, Number(Part::kWhole, reduction));
}

// Returns true if an absolute value wraps around: as in NumPy, the least integer is its own
// absolute value.  Norms never wrap: they are computed in floats.
bool Reducer::Wraps(Reduction reduction) {
  return reduction.absolute && StatisticsOf(Part::kWhole).plain.min <= LeastInteger(view_.dtype);
}

Value Reducer::IntegerTotal(Reduction reduction) {
  const Statistics &statistics = StatisticsOf(Part::kWhole);
  const DType dtype = IsUnsigned(view_.dtype) ? DType::kUInt64 : DType::kInt64;
  if (reduction.kind == ReductionKind::kProd) {
    const bool is_zero = statistics.zero_count > 0;
    return Integer(dtype, is_zero ? 0 : IntegerProduct(view_, reduction.absolute));
  }
  const bool is_exact = statistics.l1 < kExactIntegers && !Wraps(reduction);
  return Integer(dtype, is_exact ? BitsOf(Number(Part::kWhole, reduction))
                                 : IntegerSum(view_, reduction.absolute));
}

Value Reducer::IntegerExtreme(Reduction reduction) {
  const Statistics::Moments &plain = StatisticsOf(Part::kWhole).plain;
  const bool is_exact = -plain.min < kExactIntegers && plain.max < kExactIntegers;
  if (is_exact && !Wraps(reduction)) {
    return Integer(view_.dtype, BitsOf(Number(Part::kWhole, reduction)));
  }
  if (reduction.absolute) {
    const Value absolute = AbsoluteIntegers(view_);
    return Reducer(absolute.AsView()).ComputeInteger({reduction.kind});
  }
  const IntegerRange range = RangeOfIntegers(view_);
  return Integer(view_.dtype, reduction.kind == ReductionKind::kMin ? range.min : range.max);
}

double Reducer::Number(Part part, Reduction reduction) {
  const Statistics &statistics = StatisticsOf(part);
  const Statistics::Moments &moments = reduction.absolute ? statistics.absolute : statistics.plain;
  switch (reduction.kind) {
    case ReductionKind::kMin: return moments.min;
    case ReductionKind::kMax: return moments.max;
    case ReductionKind::kMedian: return Median(part, reduction.absolute);
    case ReductionKind::kMean: return moments.mean;
    case ReductionKind::kStd: return std::sqrt(moments.variance);
    case ReductionKind::kVariance: return moments.variance;
    case ReductionKind::kSum: return moments.sum;
    case ReductionKind::kProd: return reduction.absolute ? std::fabs(Product(part)) : Product(part);
    case ReductionKind::kL1: return statistics.l1;
    case ReductionKind::kL2: return statistics.l2;
  }
  return 0;
}

// One cached product suffices: a complex tensor only needs that of its magnitudes here.
double Reducer::Product(Part part) {
  if (!product_) product_ = ProductOf(view_, part, StatisticsOf(part));
  return *product_;
}

double Reducer::Median(Part part, bool absolute) {
  if (StatisticsOf(part).nan_count > 0) return std::numeric_limits<double>::quiet_NaN();
  std::optional<double> &median = medians_[absolute ? 1 : 0];
  if (!median) median = MedianOf(view_, part, absolute);
  return *median;
}

const Statistics &Reducer::StatisticsOf(Part part) {
  std::optional<Statistics> &statistics = statistics_[static_cast<size_t>(part)];
  if (!statistics) statistics = Summarize(view_, part);
  return *statistics;
}

}  // namespace smdebug::tensor
