#include "smdebug/rule_set.h"

#include "analyze/trial_source.h"
#include "diagnose/table.h"
#include "guard.h"
#include "rules/evaluation.h"
#include "rules/named_sets.h"
#include "rules/registry.h"
#include "smdebug/hook.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

constexpr uint32_t kAllFlags =
    SMD_EVALUATE_FOLLOW | SMD_EVALUATE_STOP_AT_FINDING | SMD_EVALUATE_INCOMPLETE;

Result<rules::Profile> ProfileFromC(const char *name) {
  if (name == nullptr || *name == '\0') return rules::kDefaultProfile;
  if (!rules::RulesOfSet(name).empty()) return rules::kDefaultProfile;
  const auto profile = rules::ProfileFromName(name);
  if (profile) return *profile;
  return InvalidArgument(StrCat("unknown profile '", std::string_view(name).substr(0, 64),
                                "'; use 'calibrated', 'aws' or 'llm'"));
}

const diagnose::Table *CausesOf(std::string_view name, rules::Profile profile) {
  if (name == "llm") return &diagnose::LlmTable();
  return profile == rules::Profile::kCalibrated ? &diagnose::GeneralTable() : nullptr;
}

// A trial, with the handle that the caller's functions receive.  They must not keep it.
class CallersTrial final : public analyze::TrialSource {
 public:
  explicit CallersTrial(const std::shared_ptr<analyze::Trial> &trial)
      : TrialSource(trial), handle_{trial} {}
  smd_trial *Handle() { return &handle_; }

 private:
  smd_trial handle_;
};

// A rule that consists of the caller's functions.
class FunctionRule final : public rules::Rule {
 public:
  // `owned` destroys `self`.
  FunctionRule(std::string name, const smd_rule_ops &ops, void *self,
               std::shared_ptr<const void> owned)
      : Rule(std::move(name)), ops_(ops), self_(self), owned_(std::move(owned)) {}

  bool Wants(std::string_view, const rules::Membership &) const override { return false; }
  void Observe(const rules::Sample &, rules::Findings &) override {}
  bool ReadsSource() const override { return true; }
  std::string Missing() const override { return "a step whose data it can read"; }

  // `source` is always a CallersTrial: see smd_rule_set_evaluate().
  Status Read(rules::Source &source, rules::Findings &findings) override {
    smd_findings list({});
    list.open = &findings;
    smd_error *error = nullptr;
    const int32_t answer = ops_.invoke(self_, static_cast<CallersTrial &>(source).Handle(),
                                       findings.Place().step, &list, &error);
    const std::unique_ptr<smd_error, decltype(&smd_error_free)> owned(error, smd_error_free);
    if (answer < 0) return Failure(error, findings.Place().step);
    if (answer > SMD_RULE_FINISHED) {
      return Status(
          Code::kCallbackFailed,
          StrCat("rule '", Name(), "' returned ", answer, " at step ", findings.Place().step,
                 "; return SMD_RULE_CONTINUE, SMD_RULE_FINISHED or a negative number"));
    }
    NoteEvaluated();
    if (answer == SMD_RULE_FINISHED) NoteFinished();
    return Status::Ok();
  }

 private:
  Status Failure(const smd_error *error, int64_t step) const {
    if (error == OutOfMemory()) throw std::bad_alloc();
    if (error != nullptr) return error->status;
    return Status(Code::kCallbackFailed, StrCat("rule '", Name(), "' failed at step ", step))
        .With("rule", Name())
        .With("step", std::to_string(step));
  }

  const smd_rule_ops ops_;
  void *const self_;
  const std::shared_ptr<const void> owned_;
};

// The structures of all built-in rules, created once.
class BuiltinList {
 public:
  static const BuiltinList &Get() {
    static const BuiltinList kList;
    return kList;
  }

  size_t Count() const { return rules_.size(); }
  const smd_rule_info *At(size_t index) const {
    return index < rules_.size() ? &rules_[index] : nullptr;
  }

 private:
  // All texts are literals, so they end with a NUL.
  BuiltinList() {
    const auto specs = rules::BuiltinRules();
    size_t count = 0;
    for (const rules::RuleSpec *spec : specs) count += spec->parameters.size();
    parameters_.reserve(count);
    pointers_.reserve(count);
    rules_.reserve(specs.size());
    for (const rules::RuleSpec *spec : specs) {
      const size_t first = pointers_.size();
      for (const rules::ParameterSpec &each : spec->parameters) {
        parameters_.push_back({sizeof(smd_rule_parameter), each.name.data(), each.aws.data(),
                               each.calibrated.data(), each.meaning.data()});
        pointers_.push_back(&parameters_.back());
      }
      rules_.push_back({sizeof(smd_rule_info), spec->name.data(), spec->summary.data(),
                        spec->parameters.size(), pointers_.data() + first, spec->set.data()});
    }
  }

  std::vector<smd_rule_parameter> parameters_;
  std::vector<const smd_rule_parameter *> pointers_;
  std::vector<smd_rule_info> rules_;
};

Result<rules::Range> RangeFromC(int64_t first, int64_t end, uint32_t flags) {
  if (first < 0) return InvalidArgument(StrCat("first is ", first, "; it must be 0 or more"));
  if ((flags & ~kAllFlags) != 0) return InvalidArgument(StrCat("unknown flags ", flags));
  rules::Range range;
  range.first = first;
  if (end >= 0) range.end = end;
  range.follows = (flags & SMD_EVALUATE_FOLLOW) != 0;
  range.stops_at_finding = (flags & SMD_EVALUATE_STOP_AT_FINDING) != 0;
  range.includes_incomplete = (flags & SMD_EVALUATE_INCOMPLETE) != 0;
  return range;
}

Status CheckSet(const smd_rule_set *set) { return CheckUsable(set, "set"); }

}  // namespace

Result<rules::Action> smdebug::capi::ActionFromC(smd_action action) {
  if (action >= SMD_ACTION_CONTINUE && action <= SMD_ACTION_STOP) {
    return static_cast<rules::Action>(action);
  }
  return InvalidArgument(StrCat("unknown action ", action));
}

size_t smd_builtin_rule_count(void) noexcept {
  return GuardValue<size_t>(0, [] { return BuiltinList::Get().Count(); });
}

const smd_rule_info *smd_builtin_rule(size_t index) noexcept {
  return GuardValue<const smd_rule_info *>(nullptr, [&] { return BuiltinList::Get().At(index); });
}

smd_error *smd_rule_set_new(const char *profile, smd_rule_set **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const rules::Profile known, ProfileFromC(profile));
    const std::string name(OptionalText(profile));
    auto set = std::make_shared<rules::RuleSet>();
    if (!rules::RulesOfSet(name).empty()) {
      SMD_RETURN_IF_ERROR(rules::AddAllRules(name, known, rules::Action::kWarn, set.get()));
    }
    *out = new smd_rule_set{known, std::move(set), {}, name, CausesOf(name, known)};
    return Status::Ok();
  });
}

smd_error *smd_rule_set_add(smd_rule_set *set, const char *rule, const char *parameters,
                            smd_action action) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckSet(set));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(rule, "rule"));
    SMD_ASSIGN_OR_RETURN(const rules::Action known, ActionFromC(action));
    SMD_ASSIGN_OR_RETURN(const rules::Parameters::Given given,
                         rules::Parameters::FromJson(OptionalText(parameters)));
    SMD_ASSIGN_OR_RETURN(const rules::RuleFactory make,
                         rules::BuiltinRule(name, given, set->profile, analyze::TrialSource::Open));
    return set->set->Add(make, known);
  });
}

smd_error *smd_rule_set_add_all(smd_rule_set *set, smd_action action) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckSet(set));
    SMD_ASSIGN_OR_RETURN(const rules::Action known, ActionFromC(action));
    return rules::AddAllRules(set->name, set->profile, known, set->set.get());
  });
}

smd_error *smd_rule_set_add_function(smd_rule_set *set, const char *name, const smd_rule_ops *ops,
                                     void *self, smd_action action) noexcept {
  return Guard([&]() -> Status {
    // Before any other check, since `destroy` must be called even if a check fails.
    constexpr StructKind kKind{"ops", "SMD_RULE_OPS_INIT", sizeof(smd_rule_ops),
                               sizeof(smd_rule_ops)};
    const bool has_ops = ops != nullptr && HasSize(ops, kKind);
    const std::shared_ptr<const void> owned = OwnerFromC(has_ops ? ops->destroy : nullptr, self);
    SMD_RETURN_IF_ERROR(CheckSet(set));
    SMD_RETURN_IF_ERROR(CheckStruct(ops, kKind));
    const bool can_invoke = has_ops && ops->invoke != nullptr;
    if (!can_invoke) return InvalidArgument("ops->invoke is NULL");
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(const rules::Action known, ActionFromC(action));
    return set->set->Add(
        [name = std::string(text), copy = *ops, self, owned] {
          return std::make_unique<FunctionRule>(name, copy, self, owned);
        },
        known);
  });
}

smd_error *smd_rule_set_set_save_config(smd_rule_set *set, const smd_save_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckSet(set));
    return set->set->SetSaveConfig(config == nullptr ? config::SaveConfig() : config->config);
  });
}

smd_error *smd_rule_set_evaluate(smd_rule_set *set, smd_trial *trial, int64_t first, int64_t end,
                                 uint32_t flags, smd_findings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckSet(set));
    SMD_RETURN_IF_ERROR(CheckUsable(trial, "trial"));
    SMD_ASSIGN_OR_RETURN(const rules::Range range, RangeFromC(first, end, flags));
    SMD_ASSIGN_OR_RETURN(rules::Evaluation evaluation,
                         rules::Evaluation::Begin(set->set, trial->trial));
    CallersTrial source(trial->trial);
    std::vector<rules::Finding> found;
    Status status = evaluation.Run(
        source, range, [&](const rules::Finding &finding) { found.push_back(finding); });
    *out = new smd_findings(std::move(found));
    return status;
  });
}

smd_error *smd_rule_set_results(const smd_rule_set *set, smd_rule_results **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckSet(set));
    *out = new smd_rule_results(set->set->Results());
    return Status::Ok();
  });
}

smd_error *smd_rule_set_reset(smd_rule_set *set) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckSet(set));
    return set->set->Reset();
  });
}

void smd_rule_set_free(smd_rule_set *set) noexcept { Free(set); }

// ---- rules in the training process ---------------------------------------------------------

smd_error *smd_hook_attach(smd_hook *hook, smd_rule_set *set) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_RETURN_IF_ERROR(CheckSet(set));
    if (hook->hook->IsAttached(*set->set)) return Status::Ok();
    SMD_ASSIGN_OR_RETURN(rules::Evaluation evaluation,
                         rules::Evaluation::Begin(set->set, hook->hook));
    return hook->hook->Attach(std::move(evaluation));
  });
}

smd_action smd_hook_action(const smd_hook *hook) noexcept {
  return IsUsable(hook) ? static_cast<smd_action>(hook->hook->LastAction()) : SMD_ACTION_CONTINUE;
}

smd_error *smd_hook_take_findings(smd_hook *hook, smd_findings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    *out = new smd_findings(hook->hook->TakeFindings());
    return Status::Ok();
  });
}
