#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "progress.h"
#include "smdebug.hpp"

namespace smdebug::cli {
namespace {

constexpr size_t kWidthIfUnknown = 80;

std::string_view Environment(const char *name) {
  const char *const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

Terminal Examine() {
  Terminal terminal;
  terminal.is_terminal = isatty(STDOUT_FILENO) != 0;
  if (!terminal.is_terminal) return terminal;
  const std::string_view kind = Environment("TERM");
  terminal.has_colours = Environment("NO_COLOR").empty() && !kind.empty() && kind != "dumb";
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  terminal.width = is_known ? size.ws_col : kWidthIfUnknown;
  return terminal;
}

[[noreturn]] void FailToPrint() {
  const smd_code code = errno == ENOSPC || errno == EDQUOT ? SMD_NO_SPACE : SMD_IO;
  throw Error(code, std::string("cannot write the output: ") + std::strerror(errno));
}

const char *CodeOf(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kHeading: return "\x1b[1m";
    case Style::kGood: return "\x1b[32m";
    case Style::kBad: return "\x1b[31m";
    case Style::kWarning: return "\x1b[33m";
    case Style::kFaint: return "\x1b[2m";
  }
  return "";
}

}  // namespace

const Terminal &Stdout() {
  static const Terminal kTerminal = Examine();
  return kTerminal;
}

void Print(std::string_view text) {
  if (Stdout().is_terminal) Progress::Wipe();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) FailToPrint();
}

void FlushOutput() {
  if (std::fflush(stdout) != 0) FailToPrint();
}

void Complain(std::string_view sentence) {
  Progress::Wipe();
  static_cast<void>(
      std::fprintf(stderr, "smdebug: %.*s\n", static_cast<int>(sentence.size()), sentence.data()));
}

std::string Styled(std::string_view text, Style style) {
  if (!Stdout().has_colours || style == Style::kPlain) return std::string(text);
  return CodeOf(style) + std::string(text) + "\x1b[0m";
}

}  // namespace smdebug::cli
