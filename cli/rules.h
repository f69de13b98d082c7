// `smdebug rules`: judges a trial by the built-in rules.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeRules();

}  // namespace smdebug::cli
