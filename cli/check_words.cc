#include "check_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "text.h"

namespace smdebug::cli {
namespace {

struct Words {
  std::string_view check;
  std::string_view words;
};

// Others have names that read well without underscores.
constexpr std::array<Words, 18> kWords = {{{"above", "above the limit"},
                                           {"accumulating", "gradients add up"},
                                           {"below", "below the limit"},
                                           {"element", "a single element"},
                                           {"growing", "gradients grow"},
                                           {"imbalance", "classes of unequal size"},
                                           {"increasing", "rising"},
                                           {"inf", "infinite"},
                                           {"large", "too large"},
                                           {"max_off_diag", "too large beside the diagonal"},
                                           {"min_diag", "too small on the diagonal"},
                                           {"misprediction", "classes predicted wrongly"},
                                           {"nan", "NaN"},
                                           {"not_decreasing", "not falling"},
                                           {"ratio", "first against last layer"},
                                           {"small", "too small"},
                                           {"stunted", "too small"},
                                           {"unused", "no gradient at any step"}}};

}  // namespace

std::string CheckWords(const std::string &check) {
  std::vector<std::string> parts = Split(check, '+');
  for (std::string &part : parts) {
    const auto known = std::find_if(kWords.begin(), kWords.end(),
                                    [&](const Words &each) { return each.check == part; });
    if (known != kWords.end()) part = known->words;
    std::replace(part.begin(), part.end(), '_', ' ');
  }
  return Join(parts, " and ");
}

}  // namespace smdebug::cli
