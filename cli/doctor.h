// `smdebug doctor`: whether a place and this machine can be worked with.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeDoctor();

}  // namespace smdebug::cli
