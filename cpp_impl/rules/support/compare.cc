#include "rules/support/compare.h"

#include <cmath>
#include <cstring>

#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

bool AreEqual(double a, double b, const Tolerance &tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(b);
}

double DistanceOf(double a, double b) {
  const double distance = std::abs(a - b);
  return std::isnan(distance) ? INFINITY : distance;
}

// Returns complex numbers as pairs of real numbers.
std::vector<double> NumbersOf(const Sample &sample) {
  tensor::View view = *sample.Elements();
  if (!tensor::IsComplex(view.dtype) || !view.IsCompact()) return sample.Numbers();
  const std::vector<int64_t> shape = {view.ElementCount() * 2};
  view.shape = shape;
  view.dtype =
      view.dtype == tensor::DType::kComplex64 ? tensor::DType::kFloat32 : tensor::DType::kFloat64;
  Sample pairs(sample.Place(), sample.Worker(), sample.Tensor());
  pairs.SetElements(view);
  return pairs.Numbers();
}

bool HaveEqualBytes(const tensor::View &a, const tensor::View &b) {
  if (a.dtype != b.dtype || a.ByteCount() != b.ByteCount()) return false;
  if (a.ByteCount() == 0) return true;
  if (a.IsCompact() && b.IsCompact()) return std::memcmp(a.data, b.data, a.ByteCount()) == 0;
  AlignedBuffer compact_a(a.ByteCount());
  AlignedBuffer compact_b(b.ByteCount());
  tensor::CopyCompact(a, compact_a.Data());
  tensor::CopyCompact(b, compact_b.Data());
  return std::memcmp(compact_a.Data(), compact_b.Data(), a.ByteCount()) == 0;
}

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "(";
  for (const int64_t size : shape) text += StrCat(text.size() > 1 ? ", " : "", size);
  return text + ")";
}

std::optional<Difference> CompareNumbers(const Sample &a, const Sample &b,
                                         const Tolerance &tolerance) {
  const std::vector<double> of_a = NumbersOf(a);
  const std::vector<double> of_b = NumbersOf(b);
  size_t different = 0;
  size_t worst = 0;
  for (size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) {
    if (AreEqual(of_a[i], of_b[i], tolerance)) continue;
    const bool is_worse =
        different++ == 0 || DistanceOf(of_a[i], of_b[i]) > DistanceOf(of_a[worst], of_b[worst]);
    if (is_worse) worst = i;
  }
  if (different == 0) return {};
  const double limit = tolerance.atol + tolerance.rtol * std::abs(of_b[worst]);
  return Difference{"value", DistanceOf(of_a[worst], of_b[worst]), limit,
                    StrCat(different, " of ", of_a.size(), " elements differ, most of all ",
                           Shortest(of_a[worst]), " and ", Shortest(of_b[worst]), " at ", worst)};
}

std::optional<Difference> CompareElements(const Sample &a, const Sample &b,
                                          const Tolerance &tolerance) {
  const tensor::View &of_a = *a.Elements();
  const tensor::View &of_b = *b.Elements();
  if (!std::equal(of_a.shape.begin(), of_a.shape.end(), of_b.shape.begin(), of_b.shape.end())) {
    return Difference{
        "shape", kNoNumber, kNoNumber,
        StrCat("the shapes are ", ShapeText(of_a.shape), " and ", ShapeText(of_b.shape))};
  }
  if (HaveEqualBytes(of_a, of_b)) return {};
  if (!tolerance.bitwise) return CompareNumbers(a, b, tolerance);
  if (of_a.dtype != of_b.dtype) {
    return Difference{"dtype", kNoNumber, kNoNumber,
                      StrCat("the types are ", tensor::DTypeName(of_a.dtype), " and ",
                             tensor::DTypeName(of_b.dtype))};
  }
  auto different = CompareNumbers(a, b, {true, 0, 0});
  if (different) return different;
  return Difference{"value", 0, 0, "the bytes differ, the numbers do not"};
}

std::optional<Difference> CompareReductions(const Sample &a, const Sample &b,
                                            const Tolerance &tolerance) {
  for (size_t i = 0; i < tensor::kReductions; ++i) {
    const auto reduction = tensor::Reduction::FromIndex(i);
    const std::optional<double> of_a = a.Reduce(reduction);
    const std::optional<double> of_b = b.Reduce(reduction);
    if (!of_a || !of_b || AreEqual(*of_a, *of_b, tolerance)) continue;
    const std::string name = tensor::ReductionName(reduction);
    return Difference{name, DistanceOf(*of_a, *of_b),
                      tolerance.atol + tolerance.rtol * std::abs(*of_b),
                      StrCat("the ", name, " is ", Shortest(*of_a), " and ", Shortest(*of_b))};
  }
  return {};
}

}  // namespace

std::optional<Difference> Compare(const Sample &a, const Sample &b, const Tolerance &tolerance) {
  if (!a.Texts().empty() || !b.Texts().empty()) {
    if (a.Texts() == b.Texts()) return {};
    return Difference{"texts", kNoNumber, kNoNumber, "the texts differ"};
  }
  if (a.Elements() != nullptr && b.Elements() != nullptr) return CompareElements(a, b, tolerance);
  return CompareReductions(a, b, tolerance.bitwise ? Tolerance{true, 0, 0} : tolerance);
}

bool AreComparable(const Sample &a, const Sample &b) {
  if (!a.Texts().empty() || !b.Texts().empty()) return true;
  if (a.Elements() != nullptr && b.Elements() != nullptr) return true;
  for (size_t i = 0; i < tensor::kReductions; ++i) {
    const auto reduction = tensor::Reduction::FromIndex(i);
    if (a.Reduce(reduction) && b.Reduce(reduction)) return true;
  }
  return false;
}

StepCopy::Tensor::Tensor(const Sample &original)
    : worker(original.Worker()),
      name(original.Tensor()),
      texts(original.Texts().begin(), original.Texts().end()),
      sample(original.Place(), worker, name) {
  if (const tensor::View *view = original.Elements()) {
    shape.assign(view->shape.begin(), view->shape.end());
    elements = AlignedBuffer(view->ByteCount());
    tensor::CopyCompact(*view, elements.Data());
    sample.SetElements({elements.Data(), shape, {}, view->dtype});
    return;
  }
  sample.SetTexts({texts.begin(), texts.end()});
  for (size_t i = 0; i < tensor::kReductions; ++i) {
    const auto reduction = tensor::Reduction::FromIndex(i);
    if (const auto value = original.Reduce(reduction)) sample.AddReduction(reduction, *value);
  }
}

Result<StepCopy> StepCopy::Of(Source &source, int64_t step, const Source::Wants &wants) {
  StepCopy copy;
  SMD_RETURN_IF_ERROR(source.VisitStep(step, wants, [&](const Sample &sample) {
    copy.tensors_.push_back(std::make_unique<Tensor>(sample));
    const Tensor &tensor = *copy.tensors_.back();
    copy.by_name_.emplace(Key{tensor.worker, tensor.name}, &tensor);
  }));
  return copy;
}

const Sample *StepCopy::Find(std::string_view worker, std::string_view tensor) const {
  const auto found = by_name_.find({worker, tensor});
  return found == by_name_.end() ? nullptr : &found->second->sample;
}

}  // namespace smdebug::rules
