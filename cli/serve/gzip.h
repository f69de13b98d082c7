// Compresses responses, for slow tunnels.
#pragma once

#include <string>
#include <string_view>

#include "serve/request.h"

namespace smdebug::cli::serve {

// Returns the bytes of a gzip file.  `level` is 1, the fastest, to 9.  Throws std::bad_alloc.
std::string Gzip(std::string_view text, int level);

// Compresses the body and sets the headers, unless the body is too short to gain.  A client that
// guesses at secrets learns nothing from the length: no response has both a secret and what a
// request said.
void Compress(Response *response);

}  // namespace smdebug::cli::serve
