// Texts in HTML.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace smdebug::cli::report {

// The text as HTML, in an element or an attribute with quotes.  A text that may be long, or hold
// anything, is cut, and control characters are written out.
std::string Html(std::string_view text);

// JSON as the content of a script element: nothing in it ends that.
std::string JsonInHtml(std::string_view json);

// The template with each {{name}} replaced; what is put in is not looked at again.
std::string FillIn(std::string_view page, const std::map<std::string, std::string> &texts);

}  // namespace smdebug::cli::report
