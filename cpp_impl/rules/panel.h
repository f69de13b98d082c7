// Several rules that look at one job together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/save_config.h"
#include "rules/detector.h"
#include "rules/sample.h"
#include "rules/verdict.h"

namespace smdebug::rules {

// Each tensor is summed up once for all of them.  For one thread.
class Panel {
 public:
  void Add(std::unique_ptr<Detector> detector, Action action = Action::kWarn);
  bool IsEmpty() const { return seats_.empty(); }

  // It is only to be shown the steps that are saved by this, as if there were no others.  A mode
  // without settings is one of which all steps are shown.
  void SetSaveConfig(config::SaveConfig saves) { saves_ = std::move(saves); }
  bool LooksAt(const StepPlace &place) const {
    const std::optional<config::SaveConfigMode> &settings = saves_.Of(place.mode);
    return !settings || settings->Wants(place.mode_step);
  }

  // Whether any of them looks at the tensor.  Names are remembered until Forget().
  bool Wants(std::string_view tensor, const Membership &membership);
  // To be called when collections have changed.
  void ForgetNames() { names_.clear(); }

  // One step at a time: its samples in order, then its end.
  void Observe(const Sample &sample, const Membership &membership);
  // What was found at the step.  A rule that has ended finds nothing more.
  std::vector<Verdict> EndStep(const StepPlace &place);
  // The same for a step that rules are only to know of: its findings do not count.
  void PassStep(const StepPlace &place);
  // Whether any of them asks when steps were recorded; then the places have to tell.
  bool NeedsTimes() const;
  // Between steps, now and then: what is found for want of a step.
  std::vector<Verdict> NoteTime(double wall_seconds);

  // What each rule has to say of the whole run, in the order they were added: one verdict
  // each, a finding's being the first one with how many there were.
  std::vector<Verdict> Outcomes() const;

 private:
  struct Seat {
    std::unique_ptr<Detector> detector;
    Action action;
    bool has_seen_tensor = false;
    bool has_ended = false;
    int64_t findings = 0;
    Verdict first;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  const std::vector<size_t> &SeatsFor(std::string_view tensor, const Membership &membership);
  void Note(Seat &seat, Findings &findings, std::vector<Verdict> *out);

  std::vector<Seat> seats_;
  config::SaveConfig saves_;
  std::vector<Findings> open_;  // of the step under way, a seat each; empty before it
  StepPlace last_place_{-1, Mode::kGlobal, -1};
  std::unordered_map<std::string, std::vector<size_t>, Hash, std::equal_to<>> names_;
};

}  // namespace smdebug::rules
