// Tells how finely the elements of a weight are stored.
#pragma once

#include <cstddef>
#include <vector>

namespace smdebug::rules {

// A weight with no more elements may stay as it is while its updates are rounded away.
inline constexpr size_t kFewElements = 100;

// Returns the number of leading binary digits that the elements use: up to 24 of float32, up to 8
// of bfloat16, whatever type holds them.
int DigitsOf(const std::vector<double> &elements);

// Reports whether weights of so many digits are stored in 16 bits or fewer.
bool AreFewDigits(int digits);

// Reports whether updates of a weight may vanish by rounding, at random, in a healthy training: it
// has few elements, and the weights of its model have at most `digits`, few ones.
bool MayRoundAway(size_t elements, int digits);

}  // namespace smdebug::rules
