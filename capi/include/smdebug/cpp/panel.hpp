// Panels: built-in rules that look at a job together, stored or running.
#ifndef SMDEBUG_CPP_PANEL_HPP
#define SMDEBUG_CPP_PANEL_HPP

#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/cpp/verdict.hpp"
#include "smdebug/panel.h"

namespace smdebug {

// Which defaults the parameters of rules have: those that the training service documents, or
// ours, which leave healthy runs alone.
enum class Profile { kAws, kCalibrated };

// Any threads at once.  A hook that watches with it keeps its rules.
class Panel {
 public:
  using Owner = detail::Handle<smd_panel, smd_panel_free>;

  // Without rules.  smd_panel_new().
  explicit Panel(Profile profile = Profile::kAws)
      : handle_(
            detail::Make<Owner>(smd_panel_new, profile == Profile::kAws ? "aws" : "calibrated")) {}
  // Takes `panel`.
  explicit Panel(smd_panel *panel) noexcept : handle_(panel) {}

  // Adds a rule, as "VanishingGradient"; `parameters` is a JSON object.  smd_panel_add().
  Panel &Add(const CString &rule, const CString &parameters = nullptr,
             Action action = Action::kWarn) {
    detail::Check(
        smd_panel_add(Get(), rule.Get(), parameters.Get(), static_cast<smd_action>(action)));
    return *this;
  }

  // Looks only at the steps that `config` (a copy) saves.  smd_panel_set_save_config().
  Panel &SetSaveConfig(const SaveConfig &config) {
    detail::Check(smd_panel_set_save_config(Get(), config.Get()));
    return *this;
  }

  // Judges the global steps first <= s < end (-1: all) that all workers have written and that
  // were not judged yet; returns the findings.  smd_panel_run().
  std::vector<Verdict> Run(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    return Run(trial, first, end, false);
  }

  // The same, but waits for steps until the job ends.
  std::vector<Verdict> RunToEnd(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    return Run(trial, first, end, true);
  }

  // What each rule has to say of all that it has seen, one verdict each in the order they were
  // added.  smd_panel_outcomes().
  std::vector<Verdict> Outcomes() const {
    return detail::MakeVector<detail::Verdicts>(smd_panel_outcomes, Get());
  }

  // All built-in rules and their parameters, as JSON.  smd_panel_rules().
  static std::string RulesToJson() { return detail::MakeString(smd_panel_rules); }

  smd_panel *Get() const noexcept { return handle_.get(); }

 private:
  std::vector<Verdict> Run(const Trial &trial, int64_t first, int64_t end, bool waits) {
    return detail::MakeVector<detail::Verdicts>(smd_panel_run, Get(), trial.Get(), first, end,
                                                int32_t{waits});
  }

  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_PANEL_HPP
