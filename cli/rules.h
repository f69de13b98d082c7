// `smdebug rules`: evaluates the built-in rules over a trial.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeRules();

}  // namespace smdebug::cli
