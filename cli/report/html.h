// Builds HTML from texts.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace smdebug::cli::report {

// Escapes a text for an element or a quoted attribute.  Cuts long texts, and escapes control
// characters.
std::string Html(std::string_view text);

// Returns an entry of a definition list; "" if `html` is empty.
std::string Fact(std::string_view name, const std::string &html);

// Escapes JSON for the content of a script element, so that nothing in it ends the element.
std::string JsonInHtml(std::string_view json);

// Returns the template with each {{name}} replaced.  Does not replace names in inserted texts.
std::string FillIn(std::string_view page, const std::map<std::string, std::string> &texts);

}  // namespace smdebug::cli::report
