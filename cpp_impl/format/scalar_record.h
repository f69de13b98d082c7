// Decodes records of saved reductions: trials have very many of them.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace smdebug::format {

// Returns the number in a record that this library wrote for a float32 or float64 tensor of shape
// (1).  Returns nothing for any other record, including one that ParseRecord() reports as damaged.
std::optional<double> ReadScalarRecord(ByteSpan record);

}  // namespace smdebug::format
