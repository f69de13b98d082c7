// Decodes records of one number, of which trials have very many: reductions and scalars.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace smdebug::format {

struct ScalarRecord {
  double number = 0;
  double wall_time = 0;  // seconds since 1970
};

// Returns what a record holds that this library wrote for a float32, float64 or int64 tensor of
// shape () or (1).  Returns nothing for any other record, including one that ParseRecord() reports
// as damaged.
std::optional<ScalarRecord> ReadScalarRecord(ByteSpan record);

}  // namespace smdebug::format
