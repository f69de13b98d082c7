// Numbers as text.
#pragma once

#include <string>

namespace smdebug::cli {

// Four significant digits, for people: "0.001234", "nan".
std::string Short(double number);

// As few digits as read back as the same number.
std::string Shortest(double number);
std::string Shortest(float number);

// Shortest(), as JSON; what JSON has no number for is a text.
std::string JsonNumber(double number);
std::string JsonNumber(float number);

}  // namespace smdebug::cli
