#include <algorithm>
#include <cmath>
#include <set>

#include "check_words.h"
#include "report/sampling.h"
#include "saved.h"
#include "serve/api.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostRules = 16;
constexpr size_t kMostSteps = 500;  // of one rule
constexpr double kClose = 0.002;    // relative: a stored number may be rounded

// The findings of one rule, or what it found worth a look if it has none.
struct RuleHistory {
  const Judge::History *first;
  std::set<int64_t> steps;  // of all
  size_t count = 0;
};

std::vector<RuleHistory> ByRule(const std::vector<Judge::History> &histories) {
  std::vector<RuleHistory> rules;
  for (const Level level : {Level::kFinding, Level::kWorthALook}) {
    const size_t known = rules.size();
    for (const Judge::History &each : histories) {
      if (each.first.level != level) continue;
      const auto is_same = [&](const RuleHistory &rule) {
        return rule.first->first.rule == each.first.rule;
      };
      auto rule = std::find_if(rules.begin(), rules.end(), is_same);
      if (rule == rules.end()) rule = rules.insert(rule, RuleHistory{&each, {}});
      // What a rule with findings also found worth a look adds nothing.
      if (static_cast<size_t>(rule - rules.begin()) < known) continue;
      rule->steps.insert(each.steps.begin(), each.steps.end());
      rule->count += each.count;
    }
  }
  if (rules.size() > kMostRules) rules.resize(kMostRules);
  return rules;
}

// The curve that shows a finding's tensor.
struct ShownCurve {
  std::string measure;
  bool is_evaluated = false;  // it is what the rule evaluated: the finding's value is on it
  bool is_scalar = false;
};

std::optional<ShownCurve> CurveOf(OpenRun &run, const Finding &finding) {
  const std::shared_ptr<const Inventory> tensors = run.Tensors();
  const auto found = std::find_if(tensors->begin(), tensors->end(), [&](const NamedTensor &each) {
    return each.name == finding.tensor;
  });
  if (found == tensors->end() || found->kind == TensorKind::kOther) return std::nullopt;
  const bool is_scalar = found->kind == TensorKind::kCurve;
  const Tensor tensor = run.GetTrial().Tensor(finding.tensor);
  for (const char *measure : {"mean", "l2", "abs_mean", "abs_max", "std", "min", "max", "l1"}) {
    const auto number = NumberAt(tensor, finding.step, measure, Mode::kGlobal, finding.worker);
    const bool is_close = number && std::isfinite(*number) && std::isfinite(finding.value) &&
                          std::abs(*number - finding.value) <= kClose * std::abs(finding.value);
    if (is_close) return ShownCurve{measure, true, is_scalar};
  }
  return ShownCurve{is_scalar ? "mean" : "l2", false, is_scalar};
}

void CurveToJson(OpenRun &run, const Finding &finding, JsonWriter *json) {
  std::optional<ShownCurve> curve;
  try {
    curve = CurveOf(run, finding);
  } catch (const Error &error) {
    if (!Damage::IsOfTrial(error)) throw;
  }
  json->Key("curve");
  if (!curve) {
    json->Null();
    return;
  }
  json->BeginObject().Key("tensor").Text(finding.tensor).Key("worker").Text(finding.worker);
  json->Key("measure").Text(curve->measure);
  json->Key("is_evaluated").Bool(curve->is_evaluated);
  json->Key("is_scalar").Bool(curve->is_scalar).EndObject();
}

void RuleToJson(OpenRun &run, const RuleHistory &rule, JsonWriter *json) {
  const Finding &first = rule.first->first;
  const Measure measure = MeasureOf(first.rule, first.check);
  const std::string unit = measure.unit.empty() ? "" : " (" + std::string(measure.unit) + ")";
  json->BeginObject().Key("rule").Text(first.rule).Key("status").Text(Name(first.level));
  json->Key("count").Whole(static_cast<int64_t>(rule.count));
  std::vector<int64_t> steps(rule.steps.begin(), rule.steps.end());
  json->Key("steps").Wholes(report::SampleSteps(steps, kMostSteps, {}));
  json->Key("first").BeginObject().Key("step").Whole(first.step);
  json->Key("check").Text(CheckWords(first.check));
  json->Key("measure").Text(std::string(measure.what) + unit);
  json->Key("steps").Wholes(rule.first->steps).Key("values").BeginArray();
  for (const double value : rule.first->values) NumberToJson(value, json);
  json->EndArray().Key("limits").BeginArray();
  for (const double limit : rule.first->limits) NumberToJson(limit, json);
  CurveToJson(run, first, &json->EndArray());
  json->EndObject().EndObject();
}

}  // namespace

Response AnswerRuleFindings(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  const std::shared_ptr<const StepTable> steps = run->Steps();
  const std::vector<Judge::History> histories = run->GetJudge().Histories();
  JsonWriter json;
  json.BeginObject().Key("first").Whole(steps->steps.empty() ? 0 : steps->steps.front());
  json.Key("last").Whole(steps->Last()).Key("rules").BeginArray();
  for (const RuleHistory &rule : ByRule(histories)) RuleToJson(*run, rule, &json);
  return JsonResponse(json.EndArray().EndObject().Take());
}

}  // namespace smdebug::cli::serve
