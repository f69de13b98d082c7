// Parsers of what comes from outside, each fed any bytes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace smdebug::fuzz {

struct Target {
  std::string_view name;  // of its folder in corpus/ too
  void (*run)(std::string_view input);
};

std::span<const Target> ConfigTargets();
std::span<const Target> FormatTargets();
std::span<const Target> NetTargets();
std::span<const Target> ProfileTargets();
std::span<const Target> ServeTargets();
std::span<const Target> TrialTargets();

// NULL if there is none of that name.
const Target *FindTarget(std::string_view name);

// What must hold for every input.
inline void Require(bool holds, const char *what) {
  if (holds) return;
  static_cast<void>(std::fprintf(stderr, "does not hold: %s\n", what));
  std::abort();
}

}  // namespace smdebug::fuzz
