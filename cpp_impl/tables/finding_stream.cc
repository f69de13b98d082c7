#include "tables/finding_stream.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "analyze/trial_source.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "rules/evaluation.h"
#include "rules/named_sets.h"
#include "rules/registry.h"
#include "tables/trial_by_trial.h"

namespace smdebug::tables {
namespace {

enum FindingColumn : size_t {
  kTrial,
  kRule,
  kLevel,
  kAction,
  kCheck,
  kStep,
  kMode,
  kModeStep,
  kWorker,
  kTensor,
  kValue,
  kLimit,
  kMessage,
  kProblem,
};

// What the rules say of one trial.
struct Verdict {
  std::vector<rules::Finding> findings;
  Status problem;
};

Result<analyze::TrialOptions> OptionsOf(const Request &request) {
  SMD_ASSIGN_OR_RETURN(analyze::TrialOptions options, analyze::TrialOptions::FromEnvironment());
  options.store_options = request.store_options;
  return options;
}

Status AddRule(const Request &request, const RuleRequest &rule, rules::Profile profile,
               rules::RuleSet *set) {
  SMD_ASSIGN_OR_RETURN(const auto given, rules::Parameters::FromJson(rule.parameters));
  // Other trials that the rule names lie where these do.
  const auto open = [&request](const std::string &path) -> Result<std::shared_ptr<rules::Source>> {
    SMD_ASSIGN_OR_RETURN(analyze::TrialOptions options, OptionsOf(request));
    return analyze::TrialSource::OpenWith(path, std::move(options));
  };
  SMD_ASSIGN_OR_RETURN(const rules::RuleFactory make,
                       rules::BuiltinRule(rule.name, given, profile, open));
  return set->Add(make);
}

// Without rules in the request, adds all whose defaults suffice.
Status AddRules(const Request &request, rules::RuleSet *set) {
  const rules::Profile profile =
      rules::ProfileFromName(request.profile).value_or(rules::kDefaultProfile);
  for (const RuleRequest &rule : request.rules) {
    SMD_RETURN_IF_ERROR(AddRule(request, rule, profile, set));
  }
  if (!request.rules.empty()) return Status::Ok();
  return rules::AddAllRules(request.profile, profile, rules::Action::kWarn, set);
}

Status Evaluate(const Request &request, const FoundTrial &found, Verdict *verdict) {
  SMD_ASSIGN_OR_RETURN(analyze::TrialOptions options, OptionsOf(request));
  options.wait = {};
  options.logger = Logger(LogLevel::kWarning, [&request](LogLevel level, const std::string &line) {
    request.logger.Log(level, StrCat(line, "; skipped"));
  });
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<analyze::Trial> trial,
                       analyze::Trial::Make(found.path, std::move(options)));
  SMD_RETURN_IF_ERROR(trial->Load());
  const auto set = std::make_shared<rules::RuleSet>();
  SMD_RETURN_IF_ERROR(AddRules(request, set.get()));
  SMD_ASSIGN_OR_RETURN(rules::Evaluation evaluation, rules::Evaluation::Begin(set, trial));
  analyze::TrialSource source(trial);
  rules::Range range;
  range.first = request.steps.first;
  range.end = request.steps.end;
  return evaluation.Run(source, range, [verdict](const rules::Finding &finding) {
    verdict->findings.push_back(finding);
  });
}

class FindingStream final : public TrialByTrial {
 public:
  FindingStream(std::shared_ptr<const Request> request, std::vector<FoundTrial> trials)
      : TrialByTrial(std::move(request), std::move(trials)) {}

 private:
  // Several rounds of trials at a time, so that a long one does not leave the others waiting.
  static constexpr size_t kRounds = 4;

  Status Advance() override {
    const size_t threads = TrialsAtOnce();
    std::vector<Verdict> verdicts(std::min(threads * kRounds, trials_.size() - next_));
    InParallel(verdicts.size(), threads, [&](size_t i) {
      verdicts[i].problem = Evaluate(*request_, trials_[next_ + i], &verdicts[i]);
    });
    for (const Verdict &verdict : verdicts) {
      const FoundTrial &trial = trials_[next_++];
      if (request_->fails_on_damage) SMD_RETURN_IF_ERROR(verdict.problem);
      for (const rules::Finding &finding : verdict.findings) {
        SMD_ASSIGN_OR_RETURN(const bool is_wanted, IsWanted(finding));
        if (is_wanted) Write(trial, finding);
      }
      if (verdict.problem.IsOk()) continue;
      request_->logger.Warning(StrCat(verdict.problem.Message(), "; skipped"));
      WriteProblem(trial, verdict.problem);
    }
    return Status::Ok();
  }

  // Trials in a bucket are mostly waited for; each needs the memory of its index.
  size_t TrialsAtOnce() const {
    constexpr size_t kMostOfBucket = 16;
    const size_t waits = std::min(LooksAtOnce(trials_[next_].path), kMostOfBucket);
    return std::max<size_t>(std::thread::hardware_concurrency(), waits);
  }

  Result<bool> IsWanted(const rules::Finding &finding) const {
    if (!request_->WantsWorker(finding.worker)) return false;
    if (!request_->modes.empty() && !request_->modes.contains(finding.place.mode)) return false;
    return request_->WantsTensor(finding.tensor);
  }

  void Write(const FoundTrial &trial, const rules::Finding &finding) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumn(columns_[i], trial, finding, &builder_.At(i));
    }
    builder_.NoteRows(1);
  }

  static void WriteColumn(size_t column, const FoundTrial &trial, const rules::Finding &finding,
                          Column *out) {
    switch (column) {
      case kTrial: return out->AddTexts(trial.name);
      case kRule: return out->AddTexts(finding.rule);
      case kLevel: return out->AddTexts(rules::LevelName(finding.level));
      case kAction: return out->AddTexts(rules::ActionName(finding.action));
      case kCheck: return out->AddOptional(finding.check);
      case kStep: return out->AddIntegers(finding.place.step);
      case kMode: return out->AddTexts(ModeName(finding.place.mode));
      case kModeStep: return out->AddIntegers(finding.place.mode_step);
      case kWorker: return out->AddOptional(WellFormed(finding.worker));
      case kTensor: return out->AddOptional(WellFormed(finding.tensor));
      case kValue: return out->AddOptional(finding.value);
      case kLimit: return out->AddOptional(finding.limit);
      case kMessage: return out->AddTexts(WellFormed(finding.message));
      default: return out->AddNulls();
    }
  }

  void WriteProblem(const FoundTrial &trial, const Status &problem) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column &out = builder_.At(i);
      if (columns_[i] == kTrial) {
        out.AddTexts(trial.name);
      } else if (columns_[i] == kProblem) {
        out.AddTexts(WellFormed(problem.Message()));
      } else {
        out.AddNulls();
      }
    }
    builder_.NoteRows(1);
  }
};

}  // namespace

std::unique_ptr<BatchStream> StreamFindings(std::shared_ptr<const Request> request,
                                            std::vector<FoundTrial> trials) {
  return std::make_unique<FindingStream>(std::move(request), std::move(trials));
}

}  // namespace smdebug::tables
