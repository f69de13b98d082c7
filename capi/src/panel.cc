#include "smdebug/panel.h"

#include "analyze/trial_source.h"
#include "base/json.h"
#include "guard.h"
#include "rules/registry.h"
#include "rules/shared_panel.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

Result<rules::Profile> ProfileFromC(const char *name) {
  if (name == nullptr || *name == '\0') return rules::Profile::kAws;
  const auto profile = rules::ProfileFromName(name);
  if (profile) return *profile;
  return InvalidArgument(StrCat("there is no profile '", std::string_view(name).substr(0, 64),
                                "'; there are 'aws' and 'calibrated'"));
}

Result<rules::Action> ActionFromC(smd_action action) {
  if (action >= SMD_ACTION_CONTINUE && action <= SMD_ACTION_STOP) {
    return static_cast<rules::Action>(action);
  }
  return InvalidArgument(StrCat("there is no action ", action));
}

Status HasNotJudged(const rules::SharedPanel &shared, std::string_view what)
    SMD_REQUIRES(shared.mutex) {
  if (shared.last_shown < 0) return Status::Ok();
  return WrongState(StrCat("the panel has judged steps; ", what, " before that"));
}

std::string RulesToJson() {
  JsonWriter json;
  json.BeginArray();
  for (const rules::RuleSpec *rule : rules::BuiltinRules()) {
    json.BeginObject();
    json.Key("name");
    json.Text(rule->name);
    json.Key("summary");
    json.Text(rule->summary);
    json.Key("parameters");
    json.BeginArray();
    for (const rules::ParameterSpec &parameter : rule->parameters) {
      json.BeginObject();
      json.Key("name");
      json.Text(parameter.name);
      json.Key("aws");
      json.Text(parameter.aws);
      json.Key("calibrated");
      json.Text(parameter.calibrated);
      json.Key("meaning");
      json.Text(parameter.meaning);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

// The one at `index`, or an empty one.
const rules::Verdict &At(const smd_verdicts *verdicts, size_t index) {
  static const rules::Verdict kNone;
  return index < smd_verdicts_count(verdicts) ? verdicts->items[index] : kNone;
}

}  // namespace

const char *smd_verdict_status_name(smd_verdict_status status) noexcept {
  return rules::VerdictStatusName(static_cast<rules::VerdictStatus>(status));
}

const char *smd_action_name(smd_action action) noexcept {
  return rules::ActionName(static_cast<rules::Action>(action));
}

smd_error *smd_panel_new(const char *profile, smd_panel **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const rules::Profile known, ProfileFromC(profile));
    *out = new smd_panel{known, std::make_shared<rules::SharedPanel>()};
    return Status::Ok();
  });
}

smd_error *smd_panel_set_save_config(smd_panel *panel, const smd_save_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(panel, "panel"));
    const MutexLock lock(panel->shared->mutex);
    SMD_RETURN_IF_ERROR(HasNotJudged(*panel->shared, "its save config is set"));
    panel->shared->panel.SetSaveConfig(config == nullptr ? config::SaveConfig() : config->config);
    return Status::Ok();
  });
}

smd_error *smd_panel_add(smd_panel *panel, const char *rule, const char *parameters,
                         smd_action action) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(panel, "panel"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(rule, "rule"));
    SMD_ASSIGN_OR_RETURN(const rules::Action asked, ActionFromC(action));
    SMD_ASSIGN_OR_RETURN(rules::Parameters::Given given,
                         rules::Parameters::FromJson(OptionalText(parameters)));
    SMD_ASSIGN_OR_RETURN(auto detector, rules::MakeDetector(name, std::move(given), panel->profile,
                                                            analyze::TrialSource::Open));
    const MutexLock lock(panel->shared->mutex);
    SMD_RETURN_IF_ERROR(HasNotJudged(*panel->shared, "rules are added"));
    panel->shared->panel.Add(std::move(detector), asked);
    return Status::Ok();
  });
}

smd_error *smd_panel_run(smd_panel *panel, smd_trial *trial, int64_t first, int64_t end,
                         int32_t waits, smd_verdicts **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(panel, "panel"));
    SMD_RETURN_IF_ERROR(NotNull(trial, "trial"));
    if (first < 0) return InvalidArgument(StrCat("first is ", first, "; it must be 0 or more"));
    rules::RunRange range{first, {}, false};
    if (end >= 0) range.end = end;
    analyze::TrialSource source(trial->trial);
    auto verdicts = std::make_unique<smd_verdicts>();
    Status status = rules::JudgeSteps(
        *panel->shared, source, range, waits != 0,
        [&](const rules::Verdict &verdict) { verdicts->items.push_back(verdict); });
    *out = verdicts.release();
    return status;
  });
}

smd_error *smd_panel_outcomes(const smd_panel *panel, smd_verdicts **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(panel, "panel"));
    const MutexLock lock(panel->shared->mutex);
    *out = new smd_verdicts{panel->shared->panel.Outcomes()};
    return Status::Ok();
  });
}

void smd_panel_free(smd_panel *panel) noexcept { delete panel; }

smd_error *smd_panel_rules(smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_text{RulesToJson()};
    return Status::Ok();
  });
}

// ---- rules in the training process ---------------------------------------------------------

smd_error *smd_hook_watch(smd_hook *hook, smd_panel *panel) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(hook, "hook"));
    SMD_RETURN_IF_ERROR(NotNull(panel, "panel"));
    return hook->hook->Watch(panel->shared);
  });
}

smd_action smd_hook_advice(const smd_hook *hook) noexcept {
  if (hook == nullptr || !hook->hook->Mark().IsSameProcess()) return SMD_ACTION_CONTINUE;
  return static_cast<smd_action>(hook->hook->Advice());
}

smd_error *smd_hook_take_verdicts(smd_hook *hook, smd_verdicts **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(hook, "hook"));
    SMD_RETURN_IF_ERROR(hook->hook->Mark().Check());
    *out = new smd_verdicts{hook->hook->TakeVerdicts()};
    return Status::Ok();
  });
}

// ---- verdicts --------------------------------------------------------------------------------

size_t smd_verdicts_count(const smd_verdicts *verdicts) noexcept {
  return verdicts == nullptr ? 0 : verdicts->items.size();
}

const char *smd_verdicts_rule(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).rule.c_str();
}

smd_verdict_status smd_verdicts_status(const smd_verdicts *verdicts, size_t index) noexcept {
  return static_cast<smd_verdict_status>(At(verdicts, index).status);
}

smd_action smd_verdicts_action(const smd_verdicts *verdicts, size_t index) noexcept {
  return static_cast<smd_action>(At(verdicts, index).action);
}

int64_t smd_verdicts_step(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).place.step;
}

smd_mode smd_verdicts_mode(const smd_verdicts *verdicts, size_t index) noexcept {
  return static_cast<smd_mode>(At(verdicts, index).place.mode);
}

int64_t smd_verdicts_mode_step(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).place.mode_step;
}

const char *smd_verdicts_worker(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).worker.c_str();
}

const char *smd_verdicts_tensor(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).tensor.c_str();
}

double smd_verdicts_value(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).value;
}

double smd_verdicts_limit(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).limit;
}

const char *smd_verdicts_label(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).label.c_str();
}

const char *smd_verdicts_message(const smd_verdicts *verdicts, size_t index) noexcept {
  return At(verdicts, index).message.c_str();
}

void smd_verdicts_free(smd_verdicts *verdicts) noexcept { delete verdicts; }
