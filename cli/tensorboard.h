// `smdebug tensorboard`: exports a trial to files for stock TensorBoard.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeTensorboard();

}  // namespace smdebug::cli
