// The version of the loaded library, and whether it fits these headers.
#ifndef SMDEBUG_CPP_VERSION_HPP
#define SMDEBUG_CPP_VERSION_HPP

#include "smdebug/cpp/error.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/version.h"

namespace smdebug {

// Throws (ABI_MISMATCH) if the loaded library is too old for the headers.  smd_require_abi().
inline void RequireAbi() { detail::Check(smd_require_abi(SMD_ABI_LEVEL)); }

// The version of the loaded library, such as "1.0.0".  smd_version_string().
inline std::string Version() { return smd_version_string(); }

// True if the library was built with "local" or "s3".  smd_has_feature().
inline bool HasFeature(const CString &feature) { return smd_has_feature(feature.Get()) != 0; }

}  // namespace smdebug

#endif  // SMDEBUG_CPP_VERSION_HPP
