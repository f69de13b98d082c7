#include "smdebug/profile_rules.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "guard.h"
#include "log_sink.h"
#include "profile_rules/charts.h"
#include "profile_rules/judgement.h"
#include "profile_rules/merged_timeline.h"
#include "profile_rules/phase_table.h"
#include "profile_rules/registry.h"

using namespace smdebug;
using namespace smdebug::capi;

// `views` point into `rows`.
struct smd_profile_rules {
  std::string path;
  profile_rules::JudgementOptions options;
  std::unique_ptr<profile_rules::Judgement> judgement{};
  bool is_complete = false;
  std::vector<profile_rules::PhaseRow> rows{};
  std::vector<smd_profile_phase> views{};
  ProcessMark mark{};

  const ProcessMark &Mark() const { return mark; }
};

namespace {

Result<rules::Profile> ProfileFromC(const char *name) {
  if (name == nullptr || *name == '\0') return rules::kDefaultProfile;
  const auto profile = rules::ProfileFromName(name);
  if (profile) return *profile;
  return InvalidArgument(StrCat("unknown profile '", std::string_view(name).substr(0, 64),
                                "'; use 'calibrated' or 'aws'"));
}

// The structures of all rules, created once.
class ProfileRuleList {
 public:
  static const ProfileRuleList &Get() {
    static const ProfileRuleList kList;
    return kList;
  }

  size_t Count() const { return rules_.size(); }
  const smd_rule_info *At(size_t index) const {
    return index < rules_.size() ? &rules_[index] : nullptr;
  }

 private:
  // All texts are literals, so they end with a NUL.
  ProfileRuleList() {
    const auto specs = profile_rules::ProfileRules();
    size_t count = 0;
    for (const auto &spec : specs) count += spec.parameters.size();
    parameters_.reserve(count);
    pointers_.reserve(count);
    rules_.reserve(specs.size());
    for (const auto &spec : specs) {
      const size_t first = pointers_.size();
      for (const rules::ParameterSpec &each : spec.parameters) {
        parameters_.push_back({sizeof(smd_rule_parameter), each.name.data(), each.aws.data(),
                               each.calibrated.data(), each.meaning.data()});
        pointers_.push_back(&parameters_.back());
      }
      rules_.push_back({sizeof(smd_rule_info), spec.name.data(), spec.summary.data(),
                        spec.parameters.size(), pointers_.data() + first,
                        spec.aws == nullptr ? "calibrated" : ""});
    }
  }

  std::vector<smd_rule_parameter> parameters_;
  std::vector<const smd_rule_parameter *> pointers_;
  std::vector<smd_rule_info> rules_;
};

Status Open(smd_profile_rules *rules) {
  if (rules->judgement != nullptr) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(rules->judgement,
                       profile_rules::Judgement::Open(rules->path, rules->options));
  return Status::Ok();
}

Status CheckEvaluated(const smd_profile_rules *rules) {
  SMD_RETURN_IF_ERROR(CheckUsable(rules, "rules"));
  if (rules->judgement != nullptr) return Status::Ok();
  return WrongState("the profile was not evaluated; call smd_profile_rules_evaluate() before");
}

Status CheckNotComplete(const smd_profile_rules *rules) {
  SMD_RETURN_IF_ERROR(CheckUsable(rules, "rules"));
  return rules->is_complete ? WrongState("the profile was evaluated") : Status::Ok();
}

void MakeRows(smd_profile_rules *rules) {
  rules->rows = profile_rules::PhaseTable(rules->judgement->GetSummary());
  for (const profile_rules::PhaseRow &row : rules->rows) {
    rules->views.push_back({sizeof(smd_profile_phase), row.worker.c_str(), row.name.c_str(),
                            row.kind.c_str(), row.count, row.share, row.total, row.p50, row.p95,
                            row.p99, row.most});
  }
}

Status FileFailure(const char *path) {
  const int number = errno;
  return Status(number == ENOSPC ? Code::kNoSpace : Code::kIo,
                StrCat("cannot write ", path, ": ", std::generic_category().message(number)));
}

bool IsDeviceOrPipe(const char *path) {
  struct stat facts {};
  return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

Status WriteTimelineTo(smd_profile_rules *rules, const char *path, std::FILE *file) {
  profile_rules::NameTable names;
  SMD_ASSIGN_OR_RETURN(profile_rules::ProfileReader reader,
                       profile_rules::ProfileReader::Open(rules->path, rules->options.store,
                                                          rules->options.logger, &names));
  profile_rules::MergedTimeline timeline(&names, [&](std::string_view text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return is_written ? Status::Ok() : FileFailure(path);
  });
  SMD_RETURN_IF_ERROR(timeline.WriteAll(&reader));
  return std::fflush(file) == 0 ? Status::Ok() : FileFailure(path);
}

// A failure leaves what was there: the timeline gets its name when it is complete.
Status WriteTimeline(smd_profile_rules *rules, const char *path) {
  const bool is_direct = IsDeviceOrPipe(path);
  const std::string to = is_direct ? path : StrCat(path, ".", getpid(), ".tmp");
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(to.c_str(), is_direct ? "we" : "wxe"), std::fclose);
  if (file == nullptr) return FileFailure(path);
  Status status = WriteTimelineTo(rules, path, file.get());
  if (std::fclose(file.release()) != 0 && status.IsOk()) status = FileFailure(path);
  if (is_direct) return status;
  if (status.IsOk() && std::rename(to.c_str(), path) != 0) status = FileFailure(path);
  if (!status.IsOk()) unlink(to.c_str());
  return status;
}

}  // namespace

size_t smd_profile_rule_count(void) noexcept {
  return GuardValue<size_t>(0, [] { return ProfileRuleList::Get().Count(); });
}

const smd_rule_info *smd_profile_rule(size_t index) noexcept {
  return GuardValue<const smd_rule_info *>(nullptr,
                                           [&] { return ProfileRuleList::Get().At(index); });
}

const char *smd_profile_rule_advice(const char *rule) noexcept {
  return GuardValue<const char *>("", [&] {
    const auto found = profile_rules::FindProfileRule(OptionalText(rule));
    return found.IsOk() ? (*found)->advice.data() : "";
  });
}

smd_error *smd_profile_rules_new(const char *path, const char *profile,
                                 smd_profile_rules **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view place, RequiredText(path, "path"));
    profile_rules::JudgementOptions options;
    SMD_ASSIGN_OR_RETURN(options.profile, ProfileFromC(profile));
    *out = new smd_profile_rules{std::string(place), std::move(options)};
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_set(smd_profile_rules *rules, const char *name,
                                 const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(rules, "rules"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    if (rules->judgement != nullptr) return WrongState("the profile was evaluated");
    return rules->options.Set(option, value);
  });
}

smd_error *smd_profile_rules_set_log(smd_profile_rules *rules, smd_log_level level, smd_log_fn log,
                                     void *user_data, smd_release_fn destroy) noexcept {
  return Guard([&]() -> Status {
    SMD_ASSIGN_OR_RETURN(Logger logger, LoggerFromC(level, log, user_data, destroy));
    SMD_RETURN_IF_ERROR(CheckUsable(rules, "rules"));
    rules->options.logger = std::move(logger);
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_evaluate(smd_profile_rules *rules) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckNotComplete(rules));
    if (rules->judgement != nullptr) return WrongState("scans of the profile were evaluated");
    SMD_RETURN_IF_ERROR(Open(rules));
    rules->is_complete = true;
    rules->judgement->Run();
    MakeRows(rules);
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_scan(smd_profile_rules *rules, int64_t begin_us, int64_t end_us,
                                  smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckNotComplete(rules));
    SMD_RETURN_IF_ERROR(Open(rules));
    SMD_ASSIGN_OR_RETURN(std::vector<std::string> fired,
                         rules->judgement->ScanBetween(begin_us, end_us));
    *out = new smd_strings{std::move(fired)};
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_findings(const smd_profile_rules *rules, smd_findings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckEvaluated(rules));
    *out = new smd_findings(rules->judgement->Findings());
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_results(const smd_profile_rules *rules,
                                     smd_rule_results **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckEvaluated(rules));
    *out = new smd_rule_results(rules->judgement->Results());
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_report(smd_profile_rules *rules, const char *rule,
                                    smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckEvaluated(rules));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(rule, "rule"));
    return Give(rules->judgement->ReportOf(name), out);
  });
}

size_t smd_profile_phase_count(const smd_profile_rules *rules) noexcept {
  return IsUsable(rules) ? rules->views.size() : 0;
}

const smd_profile_phase *smd_profile_phase_get(const smd_profile_rules *rules,
                                               size_t index) noexcept {
  return IsUsable(rules) && index < rules->views.size() ? &rules->views[index] : nullptr;
}

smd_error *smd_profile_rules_charts(smd_profile_rules *rules, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckEvaluated(rules));
    SMD_ASSIGN_OR_RETURN(
        const profile_rules::Json json,
        profile_rules::Charts(rules->judgement->GetSummary(), &rules->judgement->Reader()));
    *out = new smd_text{json.StrictText()};
    return Status::Ok();
  });
}

smd_error *smd_profile_rules_write_timeline(smd_profile_rules *rules,
                                            const char *out_path) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(rules, "rules"));
    SMD_RETURN_IF_ERROR(RequiredText(out_path, "out_path").GetStatus());
    return WriteTimeline(rules, out_path);
  });
}

void smd_profile_rules_free(smd_profile_rules *rules) noexcept { Free(rules); }
