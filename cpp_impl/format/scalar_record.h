// Records of saved reductions, of which trials have very many.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace smdebug::format {

// The number in a record that this library wrote for a float32 or float64 tensor of shape (1).
// Nothing for any other record, also one that ParseRecord() finds damaged.
std::optional<double> ReadScalarRecord(ByteSpan record);

}  // namespace smdebug::format
