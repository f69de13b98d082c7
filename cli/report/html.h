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

// Returns a part of the page, and its entry in the table of contents.
std::string SectionHtml(std::string_view id, std::string_view title, const std::string &html);
std::string LinkHtml(std::string_view id, std::string_view title);

// Returns the colours, the head and the message of the box on top of the page.  `kind` is "bad",
// "look", "good" or "idle".
std::string BoxHtml(const char *kind, const char *sign, const std::string &heading,
                    const std::string &sentence, const std::string &counts);

// Returns the version of this program and the time, for the foot of the page.
std::string FootText();

// Escapes JSON for the content of a script element, so that nothing in it ends the element.
std::string JsonInHtml(std::string_view json);

// Returns the template with each {{name}} replaced.  Does not replace names in inserted texts.
std::string FillIn(std::string_view page, const std::map<std::string, std::string> &texts);

}  // namespace smdebug::cli::report
