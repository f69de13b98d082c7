#include <csignal>
#include <new>

#include "arguments.h"
#include "diff.h"
#include "doctor.h"
#include "export.h"
#include "ls.h"
#include "output.h"
#include "profile.h"
#include "query.h"
#include "report.h"
#include "rules.h"
#include "serve/serve.h"
#include "show.h"
#include "smdebug.hpp"
#include "tensorboard.h"
#include "text.h"
#include "verify.h"

namespace smdebug::cli {
namespace {

std::vector<std::unique_ptr<Command>> Commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeLs());
  commands.push_back(MakeShow());
  commands.push_back(MakeRules());
  commands.push_back(MakeProfile());
  commands.push_back(MakeReport());
  commands.push_back(MakeServe());
  commands.push_back(MakeDiff());
  commands.push_back(MakeQuery());
  commands.push_back(MakeExport());
  commands.push_back(MakeVerify());
  commands.push_back(MakeTensorboard());
  commands.push_back(MakeDoctor());
  return commands;
}

ExitCode RunProgram(int count, char **words) {
  try {
    RequireAbi();
    const ExitCode code = RunCommandLine(count, words, Commands());
    FlushOutput();
    return code;
  } catch (const UsageError &error) {
    Complain(error.what());
    return ExitCode::kUsage;
  } catch (const Error &error) {
    Complain(Printable(error.what()));
    return ExitCodeOf(error.Code());
  } catch (const std::bad_alloc &) {
    Complain("out of memory");
  } catch (const std::exception &error) {
    Complain(Printable(error.what()));
  }
  return ExitCode::kInternal;
}

}  // namespace
}  // namespace smdebug::cli

int main(int count, char **words) {
  // If the reader of stdout is gone, the program stops silently, even if its parent ignores
  // SIGPIPE.
  static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
  return static_cast<int>(smdebug::cli::RunProgram(count, words));
}
