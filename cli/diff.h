// `smdebug diff`: reports where two trials differ.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeDiff();

}  // namespace smdebug::cli
