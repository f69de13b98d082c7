#include "smdebug/rule.h"

#include "analyze/trial_source.h"
#include "guard.h"
#include "rules/registry.h"
#include "rules/runner.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

constexpr size_t kLargestStruct = 4096;

// A rule made of the caller's functions.  They get a trial handle of their own, which
// lives as long as the run.
class CallbackRule final : public rules::Rule {
 public:
  // `owned` destroys `self`.
  CallbackRule(std::string name, const smd_rule_ops &ops, void *self,
               std::shared_ptr<const void> owned)
      : name_(std::move(name)), ops_(ops), self_(self), owned_(std::move(owned)) {}

  const std::string &Name() const override { return name_; }
  void SetTrial(smd_trial *trial) { trial_ = trial; }

  Result<rules::Judgement> Judge(rules::Source &, int64_t step) override {
    smd_error *error = nullptr;
    const int32_t answer = ops_.invoke(self_, trial_, step, &error);
    const std::unique_ptr<smd_error, decltype(&smd_error_free)> owned(error, smd_error_free);
    if (answer < 0) return Failure(error, step);
    if (answer > SMD_RULE_FINDING_AND_END) {
      return Status(Code::kCallbackFailed, StrCat("rule '", name_, "' answered ", answer,
                                                  " at step ", step, ", which means nothing"));
    }
    return rules::Judgement{answer != SMD_RULE_NO_FINDING, answer == SMD_RULE_FINDING_AND_END,
                            "the rule's condition holds"};
  }

 private:
  Status Failure(smd_error *error, int64_t step) const {
    if (error == OutOfMemory()) throw std::bad_alloc();
    if (error != nullptr) return error->status;
    return Status(Code::kCallbackFailed, StrCat("rule '", name_, "' failed at step ", step))
        .With("rule", name_)
        .With("step", std::to_string(step));
  }

  const std::string name_;
  const smd_rule_ops ops_;
  void *const self_;
  const std::shared_ptr<const void> owned_;
  smd_trial *trial_ = nullptr;
};

}  // namespace

smd_error *smd_rule_new(const char *name, const smd_rule_ops *ops, void *self,
                        smd_rule **out) noexcept {
  return Guard([&]() -> Status {
    // Before any other check: `destroy` runs however this ends.
    const bool has_ops = ops != nullptr && ops->struct_size >= sizeof(smd_rule_ops) &&
                         ops->struct_size <= kLargestStruct;
    std::shared_ptr<const void> owned = OwnerFromC(has_ops ? ops->destroy : nullptr, self);
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(ops, "ops"));
    if (!has_ops) return InvalidArgument("ops->struct_size is wrong; begin with SMD_RULE_OPS_INIT");
    SMD_RETURN_IF_ERROR(NotNull(reinterpret_cast<const void *>(ops->invoke), "ops->invoke"));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    auto rule = std::make_unique<CallbackRule>(std::string(text), *ops, self, std::move(owned));
    *out = new smd_rule{std::move(rule), {}};
    return Status::Ok();
  });
}

smd_error *smd_rule_new_builtin(const char *name, const char *parameters, smd_rule **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(std::unique_ptr<rules::Rule> rule,
                         rules::MakeBuiltin(text, OptionalText(parameters), rules::Profile::kAws,
                                            analyze::TrialSource::Open));
    *out = new smd_rule{std::move(rule), {}};
    return Status::Ok();
  });
}

smd_error *smd_rule_run(smd_rule *rule, smd_trial *trial, int64_t first, int64_t end,
                        int32_t stop_at_finding, smd_steps **findings) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(findings);
    SMD_RETURN_IF_ERROR(NotNull(rule, "rule"));
    SMD_RETURN_IF_ERROR(NotNull(trial, "trial"));
    if (first < 0) return InvalidArgument(StrCat("first is ", first, "; it must be 0 or more"));
    rules::RunRange range{first, {}, stop_at_finding != 0};
    if (end >= 0) range.end = end;
    smd_trial shared{trial->trial};
    if (auto *callback = dynamic_cast<CallbackRule *>(rule->rule.get())) {
      callback->SetTrial(&shared);
    }
    rule->last_finding.clear();
    analyze::TrialSource source(trial->trial);
    rules::RunResult found = rules::Run(*rule->rule, source, range);
    rule->last_finding = std::move(found.last_message);
    *findings = new smd_steps{std::move(found.steps)};
    return found.status;
  });
}

const char *smd_rule_last_finding(const smd_rule *rule) noexcept {
  return rule == nullptr ? "" : rule->last_finding.c_str();
}

void smd_rule_free(smd_rule *rule) noexcept { delete rule; }
