// `smdebug ls`: lists a trial's contents.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeLs();

}  // namespace smdebug::cli
