#include <array>
#include <memory>
#include <string>

#include "analyze/tensor.h"
#include "analyze/trial.h"
#include "analyze/trial_source.h"
#include "base/fake_clock.h"
#include "rules/evaluation.h"
#include "rules/registry.h"
#include "storage/memory_store.h"
#include "target.h"

namespace smdebug::fuzz {
namespace {

constexpr std::string_view kFileMark = "\n==> ";
constexpr int64_t kMostSteps = 50;

// "\n==> name\n" begins a file, whose content goes up to the next one.
void Unpack(std::string_view input, storage::MemoryStore &store) {
  size_t mark = input.find(kFileMark);
  while (mark != std::string_view::npos) {
    input.remove_prefix(mark + kFileMark.size());
    const size_t line = std::min(input.find('\n'), input.size());
    mark = input.find(kFileMark, line);
    const size_t end = std::min(mark, input.size());
    const size_t begin = std::min(line + 1, end);
    store.Put(std::string(input.substr(0, line)), std::string(input.substr(begin, end - begin)));
  }
}

void ReadAll(const std::shared_ptr<analyze::Trial> &trial, const std::string &name) {
  const auto tensor = analyze::Tensor::Find(trial, name);
  if (!tensor.IsOk()) return;
  const auto steps = tensor->Steps(Mode::kGlobal, true);
  if (!steps.IsOk()) return;
  for (const int64_t step : *steps) {
    static_cast<void>(tensor->Value(step, Mode::kGlobal, ""));
    static_cast<void>(tensor->Shape(step, Mode::kGlobal, ""));
    static_cast<void>(tensor->Reduction(step, Mode::kGlobal, "", tensor::Reduction{}));
  }
}

// A whole trial: opened, read, and judged by all rules.
void TrialFolder(std::string_view input) {
  FakeClock clock;
  analyze::TrialOptions options;
  auto store = std::make_shared<storage::MemoryStore>();
  store->SetOnWait([&](Clock::Duration time) { clock.Pass(time); });
  Unpack(input, *store);
  options.store = store;
  options.clock = &clock;
  options.wait = {};
  options.missing_file_retries = 0;
  const auto trial = analyze::Trial::Make("/run", options);
  Require(trial.IsOk(), "a trial is made");
  if (!(*trial)->Load().IsOk()) return;
  const auto steps = (*trial)->Steps(Mode::kGlobal, true);
  const auto names = (*trial)->TensorNames({});
  if (!steps.IsOk() || !names.IsOk() || steps->size() > kMostSteps) return;
  for (const std::string &name : *names) ReadAll(*trial, name);
  const auto set = std::make_shared<rules::RuleSet>();
  for (const rules::RuleSpec *rule : rules::BuiltinRules()) {
    const auto make = rules::BuiltinRule(rule->name, {}, rules::Profile::kCalibrated);
    if (make.IsOk()) static_cast<void>(set->Add(*make));
  }
  analyze::TrialSource source(*trial);
  auto evaluation = rules::Evaluation::Begin(set, *trial);
  const rules::Range all = {.end = {}, .includes_incomplete = true};
  static_cast<void>(evaluation->Run(source, all, [](const rules::Finding &) {}));
}

constexpr std::array kTargets = {Target{"trial", TrialFolder}};

}  // namespace

std::span<const Target> TrialTargets() { return kTargets; }

}  // namespace smdebug::fuzz
