// `smdebug query`: runs SQL over many trials.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeQuery();

}  // namespace smdebug::cli
