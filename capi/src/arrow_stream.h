// Hands batches over in Arrow's C stream interface.
#pragma once

#include <memory>
#include <vector>

#include "smdebug/arrow.h"
#include "tables/table.h"

namespace smdebug::capi {

// Makes `*out` the schema of batches with these columns, which the caller releases.
void ExportSchema(const std::vector<tables::ColumnSpec> &columns, ArrowSchema *out);

// Makes `*out` a stream, which owns `rows` until it is released.
void ExportStream(std::unique_ptr<tables::BatchStream> rows, ArrowArrayStream *out);

}  // namespace smdebug::capi
