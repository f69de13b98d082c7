#pragma once

namespace smdebug::storage {

// Returns true if this library can open buckets: it was built with SMDEBUG_S3.
bool HasS3();

}  // namespace smdebug::storage
