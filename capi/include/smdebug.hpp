// libsmdebug for C++17 and later: the C interface with owners, exceptions and containers.
//
// Everything here is inline and only translates.  A comment names the C function whose comment
// says what happens, on which threads it may be called and how it fails.  Conventions:
//  - An object owns its handle and can be moved, not copied.  Objects may be destroyed in any
//    order and on any thread.  A moved-from object fails with INVALID_ARGUMENT or returns 0.
//  - A failure throws smdebug::Error or a class derived from it.
//  - Names, paths and texts are taken as CString: `const char *`, std::string or
//    std::string_view.  A text that contains a NUL is INVALID_ARGUMENT.
//  - Get() returns the handle, for calls of the C interface.
//  - smdebug/cpp/sys/files.hpp is a second tier, as smdebug/sys/files.h is: include it by itself.
#ifndef SMDEBUG_HPP
#define SMDEBUG_HPP

#include "smdebug/cpp/collection.hpp"
#include "smdebug/cpp/config.hpp"
#include "smdebug/cpp/diagnosis.hpp"
#include "smdebug/cpp/error.hpp"
#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/hook.hpp"
#include "smdebug/cpp/log.hpp"
#include "smdebug/cpp/options.hpp"
#include "smdebug/cpp/placement.hpp"
#include "smdebug/cpp/profile_rules.hpp"
#include "smdebug/cpp/profiler.hpp"
#include "smdebug/cpp/rule.hpp"
#include "smdebug/cpp/rule_set.hpp"
#include "smdebug/cpp/statistics.hpp"
#include "smdebug/cpp/store.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/cpp/value.hpp"
#include "smdebug/cpp/version.hpp"
#include "smdebug/cpp/view.hpp"

#endif  // SMDEBUG_HPP
