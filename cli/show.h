// `smdebug show`: shows a tensor over the steps, or at one step.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeShow();

}  // namespace smdebug::cli
