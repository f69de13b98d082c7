// `smdebug doctor`: checks that trials can be recorded to and read from a place.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeDoctor();

}  // namespace smdebug::cli
