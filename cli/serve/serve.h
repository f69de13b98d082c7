// `smdebug serve`: shows runs in a browser while they are recorded.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeServe();

}  // namespace smdebug::cli
