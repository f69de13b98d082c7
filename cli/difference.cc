#include "difference.h"

#include <cstring>

#include "elements.h"
#include "text.h"

namespace smdebug::cli {
namespace {

bool HasSameBytes(const Value &a, const Value &b) {
  return a.Bytes() == b.Bytes() &&
         (a.Bytes() == 0 || std::memcmp(a.Data(), b.Data(), a.Bytes()) == 0);
}

bool IsWithin(long double a, long double b, const Tolerance &tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  // Any part of infinity would suffice.
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(b);
}

// Returns the absolute difference of one element.  It is infinite or NaN if an element is.
long double Distance(const ElementReader &a, const ElementReader &b, size_t i) {
  const long double real = a.Number(i) - b.Number(i);
  return a.AreComplex() ? std::hypot(real, a.Imaginary(i) - b.Imaginary(i)) : std::abs(real);
}

// Texts have no distance.
std::string DifferenceOf(const std::vector<std::string> &a, const std::vector<std::string> &b,
                         const std::vector<int64_t> &shape) {
  size_t elements = 0;
  size_t first = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && elements++ == 0) first = i;
  }
  if (elements == 0) return "";
  const std::string index = IndexText(first, shape);
  if (index.empty()) return "the texts differ";
  return std::to_string(elements) + " of " + Count(a.size(), "text") +
         (elements == 1 ? " differs" : " differ, the first") + " at " + index;
}

// Compares the bits, since equal numbers may differ in them: signs of zeros, payloads of NaNs.
bool HasSameBits(const Value &a, const Value &b, size_t i) {
  const size_t size = DTypeSize(a.DType());
  const auto *const in_a = static_cast<const unsigned char *>(a.Data());
  const auto *const in_b = static_cast<const unsigned char *>(b.Data());
  return std::memcmp(in_a + i * size, in_b + i * size, size) == 0;
}

}  // namespace

Difference Compare(const Value &a, const Value &b, const Tolerance &tolerance) {
  Difference difference;
  const std::vector<int64_t> shape = a.Shape();
  if (shape != b.Shape()) {
    difference.otherwise = ShapeText(shape) + " against " + ShapeText(b.Shape());
    return difference;
  }
  if (a.DType() != b.DType()) {
    difference.otherwise = std::string(DTypeName(a.DType())) + " against " + DTypeName(b.DType());
    return difference;
  }
  const ElementReader in_a(a);
  const ElementReader in_b(b);
  difference.of = in_a.Size();
  if (in_a.AreTexts()) {
    difference.otherwise = DifferenceOf(a.Strings(), b.Strings(), shape);
    return difference;
  }
  if (HasSameBytes(a, b)) return difference;
  for (size_t i = 0; i < in_a.Size(); ++i) {
    const bool is_equal = tolerance.is_exact
                              ? HasSameBits(a, b, i)
                              : IsWithin(in_a.Number(i), in_b.Number(i), tolerance) &&
                                    IsWithin(in_a.Imaginary(i), in_b.Imaginary(i), tolerance);
    if (is_equal) continue;
    const auto distance = static_cast<double>(Distance(in_a, in_b, i));
    const bool is_larger =
        std::isnan(distance) ? !std::isnan(difference.largest) : distance > difference.largest;
    if (difference.elements++ == 0 || is_larger) {
      difference.largest = distance;
      difference.at = i;
    }
  }
  return difference;
}

std::string IndexText(size_t element, const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  if (count <= 1) return "";
  std::vector<std::string> indices(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<size_t>(shape[i]);
    indices[i] = std::to_string(element % size);
    element /= size;
  }
  return "[" + Join(indices, ", ") + "]";
}

}  // namespace smdebug::cli
