// Plain words for the checks of rules.
#pragma once

#include <string>

namespace smdebug::cli {

// Returns, for example, "not updated" for "not_updated", and "gradients and loss" for
// "gradients+loss".
std::string CheckWords(const std::string &check);

}  // namespace smdebug::cli
