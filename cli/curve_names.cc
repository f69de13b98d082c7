#include "curve_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace smdebug::cli {
namespace {

constexpr std::array<std::string_view, 9> kDataSets = {
    "train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "dev"};

bool IsDataSet(std::string_view word) {
  return std::any_of(kDataSets.begin(), kDataSets.end(), [word](std::string_view each) {
    return std::equal(word.begin(), word.end(), each.begin(), each.end(),
                      [](char a, char b) { return std::tolower(a) == b; });
  });
}

bool IsIn(const std::vector<std::string> &collections, std::string_view collection) {
  return std::find(collections.begin(), collections.end(), collection) != collections.end();
}

}  // namespace

bool IsNameOfLoss(std::string_view name) {
  return name.find("loss") != std::string_view::npos || name.find("Loss") != std::string_view::npos;
}

bool IsLoss(std::string_view name, const std::vector<std::string> &collections) {
  return IsIn(collections, "losses") || IsNameOfLoss(name);
}

std::string CurveMeasure(std::string_view name, const std::vector<std::string> &collections) {
  constexpr std::string_view kScalar = "scalar/";
  constexpr std::string_view kBetween = "_-/.";
  if (name.starts_with(kScalar)) name.remove_prefix(kScalar.size());
  const size_t first = name.find_first_of(kBetween);
  if (first == std::string_view::npos) return std::string(name);
  const size_t last = name.find_last_of(kBetween);
  // XGBoost's data sets have any name.
  const bool is_of_booster = IsIn(collections, "metrics") && name[first] == '-' && first > 0;
  if (first + 1 < name.size() && (IsDataSet(name.substr(0, first)) || is_of_booster)) {
    return std::string(name.substr(first + 1));
  }
  return std::string(last > 0 && IsDataSet(name.substr(last + 1)) ? name.substr(0, last) : name);
}

}  // namespace smdebug::cli
