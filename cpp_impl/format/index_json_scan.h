// The short way to read an index file.
#pragma once

#include <string_view>

#include "format/index_json.h"

namespace smdebug::format {

// Reads a text that is in every space and order of keys as IndexToJson writes it, with
// nothing in it that is escaped, refused or unknown; false, and `out` anything, if it is
// not.  What is in `out` before makes no difference but to the memory used.  Then the long way must
// be gone, which takes five times as long.
bool ScanIndex(std::string_view text, IndexFile *out);

}  // namespace smdebug::format
