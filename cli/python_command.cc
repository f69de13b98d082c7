#include "python_command.h"

#include <unistd.h>

#include "output.h"

namespace smdebug::cli {
namespace {

// Python puts the current folder in front of its path for -c, and for -m; modules must not come
// from there.
constexpr const char *kProgram = R"(
import sys
if sys.path[:1] == ['']:
    del sys.path[0]
try:
    from smdebug.tables.command import run
except ImportError as error:
    print('smdebug: the command', sys.argv[1], 'runs in Python, and', sys.executable,
          f'cannot import smdebug.tables ({error}):',
          "pip install 'libsmdebug[sql]'", file=sys.stderr)
    sys.exit(8)
run(sys.argv[1:])
)";

}  // namespace

void PythonWords::Flag(const char *name, bool is_given) {
  if (is_given) words_.emplace_back(name);
}

// As one word, since a value may begin with "-".
void PythonWords::Option(const char *name, const std::string &value) {
  if (!value.empty()) words_.push_back(std::string(name) + "=" + value);
}

void PythonWords::Options(const char *name, const std::vector<std::string> &values) {
  for (const std::string &value : values) Option(name, value);
}

void PythonWords::Positionals(const std::vector<std::string> &values) {
  words_.emplace_back("--");
  words_.insert(words_.end(), values.begin(), values.end());
}

ExitCode RunInPython(const PythonWords &words) {
  std::vector<std::string> all = {"python3", "-c", kProgram};
  all.insert(all.end(), words.All().begin(), words.All().end());
  std::vector<char *> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string &word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  FlushOutput();
  execvp(pointers.front(), pointers.data());
  Complain("the command " + words.All().front() +
           " runs in Python, and there is no python3 in PATH; install it, then: pip install "
           "'libsmdebug[sql]'");
  return ExitCode::kUnsupported;
}

}  // namespace smdebug::cli
