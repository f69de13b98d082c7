// The program's output: answers go to stdout, progress and failures to stderr.
#pragma once

#include <string>
#include <string_view>

namespace smdebug::cli {

// The properties of stdout.  They affect only the layout of the output, not its contents.
struct Terminal {
  bool is_terminal = false;
  bool has_colours = false;  // a terminal with colours, and NO_COLOR is not set
  size_t width = 0;          // in characters; 0: unlimited
};
const Terminal &Stdout();

// Writes to stdout.  Throws IO or NO_SPACE if that fails.  If the reader of stdout is gone, SIGPIPE
// terminates the program.
void Print(std::string_view text);
// Flushes what Print() wrote.  Fails as Print().
void FlushOutput();

// Writes one line to stderr, after the program's name.
void Complain(std::string_view sentence);

enum class Style { kPlain, kHeading, kGood, kBad, kWarning, kFaint };

// Returns the text in a style if stdout has colours.
std::string Styled(std::string_view text, Style style);

}  // namespace smdebug::cli
