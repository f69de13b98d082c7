#include "profile_rules/judgement.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "profile_rules/registry.h"

namespace smdebug::profile_rules {
namespace {

constexpr int64_t kMostScans = 1'000'000;

Status SetParameter(JudgementOptions *options, std::string_view name, std::string_view value) {
  const size_t mark = name.find('_');
  const std::string_view rule = name.substr(0, mark);
  if (mark == std::string_view::npos) {
    return InvalidArgument(StrCat("there is no option '", name.substr(0, 64),
                                  "'; use rule, scan_interval_us, s3_... or <Rule>_<parameter>"));
  }
  SMD_ASSIGN_OR_RETURN(const ProfileRuleSpec *spec, FindProfileRule(rule));
  const std::string_view parameter = name.substr(mark + 1);
  rules::Parameters::Given given = options->parameters[std::string(spec->name)];
  given.insert_or_assign(std::string(parameter), std::string(value));
  if (!IsInProfile(*spec, options->profile)) {
    return InvalidArgument(
        StrCat(spec->name, " is not a rule of the profile ", rules::ProfileName(options->profile)));
  }
  // Wrong parameters are known before a profile is opened.
  const NameTable no_names;
  SMD_RETURN_IF_ERROR(MakeProfileRule(*spec, given, options->profile, &no_names).GetStatus());
  options->parameters[std::string(spec->name)] = std::move(given);
  return Status::Ok();
}

}  // namespace

Status JudgementOptions::Set(std::string_view name, std::string_view value) {
  if (name == "rule") {
    SMD_ASSIGN_OR_RETURN(const ProfileRuleSpec *spec, FindProfileRule(value));
    if (!IsInProfile(*spec, profile)) {
      return InvalidArgument(
          StrCat(value, " is not a rule of the profile ", rules::ProfileName(profile)));
    }
    rules.emplace_back(value);
    return Status::Ok();
  }
  if (name == "scan_interval_us") {
    const auto interval = ParseInt(value);
    if (!interval || *interval < 1'000'000) {
      return Status(Code::kInvalidConfig, StrCat("scan_interval_us is '", value.substr(0, 64),
                                                 "'; it must be 1000000 or more"));
    }
    scan_interval = *interval;
    return Status::Ok();
  }
  if (name.starts_with("s3_")) return store.Set(name, value);
  return SetParameter(this, name, value);
}

Judgement::Judgement(std::unique_ptr<NameTable> names, ProfileReader reader,
                     const JudgementOptions &options)
    : names_(std::move(names)),
      reader_(std::move(reader)),
      scan_interval_(options.scan_interval),
      summary_(names_.get()) {}

Result<std::unique_ptr<Judgement>> Judgement::Open(std::string_view path,
                                                   const JudgementOptions &options) {
  auto names = std::make_unique<NameTable>();
  SMD_ASSIGN_OR_RETURN(ProfileReader reader,
                       ProfileReader::Open(path, options.store, options.logger, names.get()));
  std::unique_ptr<Judgement> judgement(new Judgement(std::move(names), std::move(reader), options));
  SMD_RETURN_IF_ERROR(judgement->AddRules(options));
  return judgement;
}

Status Judgement::AddRules(const JudgementOptions &options) {
  for (const ProfileRuleSpec &spec : ProfileRules()) {
    const bool is_wanted =
        options.rules.empty() ||
        std::find(options.rules.begin(), options.rules.end(), spec.name) != options.rules.end();
    if (!is_wanted || !IsInProfile(spec, options.profile)) continue;
    const auto found = options.parameters.find(std::string(spec.name));
    const auto given =
        found == options.parameters.end() ? rules::Parameters::Given() : found->second;
    SMD_ASSIGN_OR_RETURN(std::unique_ptr<ProfileRule> rule,
                         MakeProfileRule(spec, given, options.profile, names_.get()));
    entries_.push_back({&spec, std::move(rule), ParameterText(spec, given, options.profile)});
  }
  return Status::Ok();
}

void Judgement::Observe(const Events &events) {
  for (const Entry &entry : entries_) {
    for (const Sample &sample : events.samples) entry.rule->Observe(sample);
    for (const Span &span : events.spans) entry.rule->Observe(span);
  }
  summary_.Add(events);
}

std::vector<std::string> Judgement::EndScan(int64_t begin) {
  std::vector<std::string> fired;
  for (const Entry &entry : entries_) {
    if (entry.rule->EndScan({begin, reader_.FirstTime()})) fired.emplace_back(entry.spec->name);
  }
  return fired;
}

Result<std::vector<std::string>> Judgement::ScanBetween(int64_t begin, int64_t end) {
  SMD_ASSIGN_OR_RETURN(const Events events, reader_.Between(begin, end));
  Observe(events);
  std::vector<std::string> fired = EndScan(begin);
  Conclude();
  return fired;
}

void Judgement::Run() {
  Events events;
  int64_t begin = reader_.FirstTime();
  // A file whose name lies about its time must not make endless empty scans.
  const int64_t span = std::max<int64_t>(0, reader_.LastTime() - begin);
  const int64_t step = std::max(scan_interval_, span / kMostScans);
  while (!reader_.IsAtEnd()) {
    const bool is_last = begin > reader_.LastTime();
    const int64_t end = is_last ? INT64_MAX : begin + step;
    bool has_more = true;
    while (has_more) {
      has_more = reader_.Next(end, &events);
      Observe(events);
    }
    EndScan(begin);
    if (is_last) break;
    begin = end;
  }
  Finish();
}

void Judgement::Finish() {
  summary_.Finish();
  for (const Entry &entry : entries_) entry.rule->Finish(summary_);
  Conclude();
}

void Judgement::Conclude() {
  findings_.clear();
  results_.clear();
  for (const Entry &entry : entries_) {
    std::vector<rules::Finding> &found = entry.rule->Findings();
    rules::RuleResult result;
    result.rule = entry.spec->name;
    result.finding_count = static_cast<int64_t>(found.size());
    if (!found.empty()) {
      result.status = rules::RuleStatus::kHasFindings;
      result.first = found.front();
      result.message = found.front().message;
    } else if (entry.rule->HasEvaluated()) {
      result.status = rules::RuleStatus::kPassed;
      result.message = "no findings";
    } else {
      result.status = rules::RuleStatus::kNotEnoughData;
      result.message = StrCat("needs ", entry.rule->Missing());
    }
    results_.push_back(std::move(result));
    findings_.insert(findings_.end(), found.begin(), found.end());
  }
}

Result<std::string> Judgement::ReportOf(std::string_view rule) {
  for (const Entry &entry : entries_) {
    if (entry.spec->name != rule) continue;
    entry.rule->WriteReport();
    const RuleReport &report = entry.rule->Report();
    Json json = Json::Object();
    json["RuleTriggered"] = report.triggered;
    json["Violations"] = report.violations;
    json["Details"] = report.details;
    json["Datapoints"] = report.datapoints;
    json["RuleParameters"] = std::string_view(entry.parameters);
    return json.Text();
  }
  SMD_RETURN_IF_ERROR(FindProfileRule(rule).GetStatus());
  return InvalidArgument(StrCat(rule, " was not evaluated"));
}

}  // namespace smdebug::profile_rules
