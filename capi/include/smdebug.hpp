// libsmdebug for C++17 and later: the C interface with owners, exceptions and containers.
//
// Everything here is inline and only translates; what a function does, from which threads it
// may be called and how it fails is said by the C function that its comment names.  Written
// once, for all of it:
//  - An object owns its handle and is moved, not copied.  Objects may be destroyed in any order
//    and from any thread.  One that was moved from answers with INVALID_ARGUMENT, or 0.
//  - A failure is thrown as smdebug::Error, or as one of the classes derived from it.
//  - Names, paths and texts are taken as CString: `const char *`, std::string or
//    std::string_view.  One that holds a NUL is INVALID_ARGUMENT.
//  - Get() lends the handle, for what only the C interface offers.
#ifndef SMDEBUG_HPP
#define SMDEBUG_HPP

#include "smdebug/cpp/config.hpp"
#include "smdebug/cpp/error.hpp"
#include "smdebug/cpp/files.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/hook.hpp"
#include "smdebug/cpp/log.hpp"
#include "smdebug/cpp/options.hpp"
#include "smdebug/cpp/panel.hpp"
#include "smdebug/cpp/rule.hpp"
#include "smdebug/cpp/store.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/cpp/value.hpp"
#include "smdebug/cpp/verdict.hpp"
#include "smdebug/cpp/version.hpp"
#include "smdebug/cpp/view.hpp"

#endif  // SMDEBUG_HPP
