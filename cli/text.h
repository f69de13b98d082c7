// Texts as people see them: UTF-8, in columns of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// The text with control characters, those of direction too, and bytes that are not UTF-8 written
// out, as \x1b: names come from files, and must neither command a terminal nor look like others.
std::string Printable(std::string_view text);

// How many characters there are, each taken to be one column wide.
size_t WidthOf(std::string_view text);

// At most `width` characters; the middle gives way to "…", since names differ at both ends.
std::string Shortened(std::string_view text, size_t width);

// With blanks after it (or before it) to `width` characters.
std::string Padded(std::string_view text, size_t width, bool to_the_right = false);

std::string Join(const std::vector<std::string> &texts, std::string_view between);

// The pieces between the separators.
std::vector<std::string> Split(std::string_view text, char separator);

// The lines, without their ends.
std::vector<std::string> Lines(std::string_view text);

// Broken between words into lines of at most `width` characters, where words allow it.
std::vector<std::string> Wrap(std::string_view text, size_t width);

// "1 step", "2 steps".
std::string Count(size_t count, std::string_view noun);

// "3.2 MB".
std::string BytesText(uint64_t bytes);

}  // namespace smdebug::cli
