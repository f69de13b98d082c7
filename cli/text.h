// Formats UTF-8 text for people, in the columns of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Escapes control characters (those of text direction too) and bytes that are not UTF-8, as \x1b.
// Names come from files, and must neither control a terminal nor look like other names.
std::string Printable(std::string_view text);

// Returns the columns that the text takes on a terminal: characters of East Asia take two.
size_t WidthOf(std::string_view text);

// Returns at most `width` columns, with "…" instead of the middle: names differ at both ends.
std::string Shortened(std::string_view text, size_t width);

// Pads the text with blanks after (or before) it to `width` columns.
std::string Padded(std::string_view text, size_t width, bool to_the_right = false);

std::string Join(const std::vector<std::string> &texts, std::string_view between);

// Returns the pieces between the separators.
std::vector<std::string> Split(std::string_view text, char separator);

// Returns the lines without their newlines.
std::vector<std::string> Lines(std::string_view text);

enum class LongWords { kKeep, kSplit };

// Breaks the text between words into lines of at most `width` columns.  A longer word gets a
// line of its own, or is split, if possible after ".", "/" or "_".
std::vector<std::string> Wrap(std::string_view text, size_t width,
                              LongWords long_words = LongWords::kKeep);

// Returns "1 step" or "2 steps".
std::string Count(size_t count, std::string_view noun);

// Returns "3.2 MB".
std::string BytesText(uint64_t bytes);

}  // namespace smdebug::cli
