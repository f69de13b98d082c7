#include "profile_rules/finding_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/strings.h"

namespace smdebug::profile_rules {

std::string Fixed(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string PercentOf(double share) {
  return StrCat(Fixed(share * 100, share < 0.1 ? 1 : 0), " %");
}

std::string Duration(double microseconds) {
  if (microseconds < 1e3) return StrCat(Fixed(microseconds, 0), " us");
  if (microseconds < 1e6)
    return StrCat(Fixed(microseconds / 1e3, microseconds < 1e5 ? 1 : 0), " ms");
  return StrCat(Fixed(microseconds / 1e6, microseconds < 1e8 ? 1 : 0), " s");
}

std::string TimeText(double seconds) {
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&whole, &parts) == nullptr) return Fixed(seconds, 0);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

rules::Finding MakeFinding(std::string_view rule, std::string_view check, std::string_view worker,
                           std::string_view culprit, double value, double limit,
                           std::string message) {
  rules::Finding finding;
  finding.rule = rule;
  finding.check = check;
  finding.worker = worker;
  finding.tensor = culprit;
  finding.value = value;
  finding.limit = limit;
  finding.action = rules::Action::kWarn;
  finding.message = std::move(message);
  return finding;
}

}  // namespace smdebug::profile_rules
