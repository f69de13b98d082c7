#include "tensor/reduction.h"

#include <algorithm>

#include "base/strings.h"

namespace smdebug::tensor {
namespace {

constexpr std::array<std::string_view, kReductionKinds> kNames = {
    "min", "max", "median", "mean", "std", "variance", "sum", "prod", "l1", "l2"};

constexpr std::string_view kFolder = "smdebug/reductions/";
constexpr std::string_view kAbsolute = "abs_";
constexpr std::string_view kNorm = "_norm";

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

std::string WithoutOutputNumbers(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (size_t i = 0; i < name.size();) {
    const bool is_number = name[i] == ':' && i + 1 < name.size() && IsDigit(name[i + 1]);
    if (!is_number) {
      out.push_back(name[i++]);
      continue;
    }
    ++i;
    while (i < name.size() && IsDigit(name[i])) ++i;
  }
  return out;
}

}  // namespace

std::string_view ReductionKindName(ReductionKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "";
}

std::optional<ReductionKind> ReductionKindFromName(std::string_view name) {
  const auto *found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return {};
  return static_cast<ReductionKind>(found - kNames.begin());
}

std::string ReductionName(Reduction reduction) {
  return StrCat(reduction.absolute ? kAbsolute : "", ReductionKindName(reduction.kind));
}

std::optional<Reduction> ReductionFromName(std::string_view name) {
  Reduction reduction;
  reduction.absolute = name.starts_with(kAbsolute);
  if (reduction.absolute) name.remove_prefix(kAbsolute.size());
  const bool says_norm = name.ends_with(kNorm);
  if (says_norm) name.remove_suffix(kNorm.size());
  const auto kind = ReductionKindFromName(name);
  if (!kind) return {};
  reduction.kind = *kind;
  if (says_norm && !reduction.IsNorm()) return {};
  return reduction;
}

std::string ReductionTensorName(Reduction reduction, std::string_view tensor,
                                bool keeps_output_numbers) {
  std::string name = StrCat(kFolder, ReductionName(reduction), '/', tensor);
  const bool has_number = !keeps_output_numbers && name.find(':') != std::string::npos;
  return has_number ? WithoutOutputNumbers(name) : name;
}

std::optional<SavedReduction> ParseReductionTensorName(std::string_view name) {
  const size_t begin = name.find(kFolder);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = name.substr(begin + kFolder.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return {};
  const auto reduction = ReductionFromName(rest.substr(0, slash));
  if (!reduction) return {};
  return SavedReduction{*reduction, rest.substr(slash + 1)};
}

}  // namespace smdebug::tensor
