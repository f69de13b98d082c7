// Where the program writes: answers to stdout, progress and failures to stderr.
#pragma once

#include <string>
#include <string_view>

namespace smdebug::cli {

// What is known of stdout.  Nothing of what is said depends on it, only how it looks.
struct Terminal {
  bool is_terminal = false;
  bool has_colours = false;  // a terminal that knows them, and no NO_COLOR
  size_t width = 0;          // of the terminal, in characters; 0: without end
};
const Terminal &Stdout();

// Writes to stdout.  Throws IO or NO_SPACE where that fails; where nobody reads any more, the
// program ends.
void Print(std::string_view text);
// What Print() wrote reaches its reader.  Fails as Print().
void FlushOutput();

// One line on stderr, with the program's name before it.
void Complain(std::string_view sentence);

enum class Style { kPlain, kHeading, kGood, kBad, kWarning, kFaint };

// The text in a style, where stdout has colours.
std::string Styled(std::string_view text, Style style);

}  // namespace smdebug::cli
