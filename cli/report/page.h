// The parts of the page in page/, which the build embeds in the program.
#pragma once

#include <string_view>

namespace smdebug::cli::report {

extern const std::string_view kPage;    // page.html, with {{name}} for each text to insert
extern const std::string_view kStyle;   // style.css
extern const std::string_view kScript;  // all scripts, in the order of their dependencies

}  // namespace smdebug::cli::report
