// `smdebug report`: writes a page about a trial.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeReport();

}  // namespace smdebug::cli
