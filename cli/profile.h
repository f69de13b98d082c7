// `smdebug profile`: reports where the time of a job's steps goes.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeProfile();

}  // namespace smdebug::cli
