// Reads index files on a fast path.
#pragma once

#include <string_view>

#include "format/index_json.h"

namespace smdebug::format {

// Reads a text that matches the output of IndexToJson in every space and in key order, without any
// escaped, rejected or unknown part.  Otherwise returns false, and `out` is unspecified; the caller
// then needs the slow path, which takes five times as long.  The previous content of `out` affects
// only memory use.
bool ScanIndex(std::string_view text, IndexFile *out);

}  // namespace smdebug::format
