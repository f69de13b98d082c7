#include "rules/support/words.h"

#include <cstdio>

#include "base/strings.h"

namespace smdebug::rules {

std::string Shortest(double number) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.3g", number));
  return text;
}

std::string AndOthers(int64_t count) {
  if (count == 0) return {};
  return StrCat(", and ", count, count == 1 ? " other with it" : " others with it");
}

}  // namespace smdebug::rules
