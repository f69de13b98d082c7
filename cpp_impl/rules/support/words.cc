#include "rules/support/words.h"

#include <cstdio>

namespace smdebug::rules {

std::string Shortest(double number) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.3g", number));
  return text;
}

}  // namespace smdebug::rules
