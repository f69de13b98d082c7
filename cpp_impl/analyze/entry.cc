#include "analyze/entry.h"

#include <cmath>
#include <cstring>

namespace smdebug::analyze {

std::optional<ElementBytes> ElementOf(const KnownNumber &known) {
  const auto exactly = [&](auto element) -> std::optional<ElementBytes> {
    if (static_cast<double>(element) != known.number) return {};
    ElementBytes made{{}, sizeof element};
    std::memcpy(made.bytes.data(), &element, sizeof element);
    return made;
  };
  constexpr double kExactIntegers = 0x1p53;
  switch (known.dtype) {
    case tensor::DType::kFloat32: return exactly(static_cast<float>(known.number));
    case tensor::DType::kFloat64: return exactly(known.number);
    case tensor::DType::kInt64:
      if (!(std::abs(known.number) < kExactIntegers)) return {};
      return exactly(static_cast<int64_t>(known.number));
    default: return {};
  }
}

}  // namespace smdebug::analyze
