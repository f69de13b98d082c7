// The page's own parts, as they are in page/; put into the program when it is built.
#pragma once

#include <string_view>

namespace smdebug::cli::report {

extern const std::string_view kPage;    // with {{name}} where something is put in
extern const std::string_view kStyle;   // style.css
extern const std::string_view kScript;  // all scripts, in the order in which they need each other

}  // namespace smdebug::cli::report
