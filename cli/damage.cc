#include "damage.h"

#include "output.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kMostTold = 5;
constexpr size_t kMostKept = 10;

}  // namespace

bool Damage::Is(const Error &error) {
  const smd_code code = error.Code();
  const bool is_missing = code == SMD_VALUE_UNAVAILABLE && error.Detail("path").has_value();
  return code == SMD_CORRUPT_DATA || is_missing;
}

bool Damage::IsOfTrial(const Error &error) {
  const ExitCode kind = ExitCodeOf(error.Code());
  return kind != ExitCode::kNetwork && kind != ExitCode::kCredentials &&
         kind != ExitCode::kInternal;
}

void Damage::Note(const std::string &trial, const std::string &sentence, bool is_reported) {
  size_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    trials_.insert(trial);
    if (sentences_.size() < kMostKept) sentences_.push_back(sentence);
    before = count_++;
  }
  if (before < kMostTold && !is_reported) Complain("warning: " + Printable(sentence));
}

std::vector<std::string> Damage::Sentences() const {
  const std::lock_guard lock(mutex_);
  return sentences_;
}

ExitCode Damage::Conclude(ExitCode code) const {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return code;
  std::string commands;
  for (const std::string &trial : trials_) {
    commands += (commands.empty() ? "smdebug verify " : ", smdebug verify ") + trial;
  }
  Complain("warning: skipped " + Count(count_, "damaged part") +
           "; to see all of it: " + Printable(commands));
  return code == ExitCode::kNoFindings ? ExitCode::kDamaged : code;
}

}  // namespace smdebug::cli
