// `smdebug export`: writes many trials as Parquet.
#pragma once

#include <memory>

#include "command.h"

namespace smdebug::cli {

std::unique_ptr<Command> MakeExport();

}  // namespace smdebug::cli
