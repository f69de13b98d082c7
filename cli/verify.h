// `smdebug verify`: reads everything, and reports damage.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeVerify();

}  // namespace smdebug::cli
