// Converts numbers to text.
#pragma once

#include <string>

namespace smdebug::cli {

// Returns four significant digits, for people: "0.001234", "nan".
std::string Short(double number);

// Return the fewest digits that parse to the same number.
std::string Shortest(double number);
std::string Shortest(float number);

// Return Shortest() as JSON; a non-finite number becomes a text.
std::string JsonNumber(double number);
std::string JsonNumber(float number);

}  // namespace smdebug::cli
