#include "rule_list.h"

#include <set>

#include "exit_code.h"
#include "json_writer.h"
#include "text.h"

namespace smdebug::cli {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Parses "k=v,k=v".  A piece without "=" continues the previous value, so that a value can be a
// list of names.
Parameters ParseParameters(const std::string &rule, const std::string &text) {
  Parameters parameters;
  for (const std::string &piece : Split(text, ',')) {
    const size_t equals = piece.find('=');
    if (equals != std::string::npos && equals > 0) {
      parameters.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
    } else if (equals == std::string::npos && !parameters.empty()) {
      parameters.back().second += "," + piece;
    } else {
      throw UsageError("--rule " + rule + " needs NAME=VALUE after the comma, not '" +
                       Printable(piece) + "'");
    }
  }
  return parameters;
}

std::string ToJson(const Parameters &parameters) {
  JsonWriter json;
  json.BeginObject();
  for (const auto &[name, value] : parameters) json.Key(name).Text(value);
  return json.EndObject().Take();
}

}  // namespace

RuleRequest ParseRule(const std::string &text) {
  const size_t comma = text.find(',');
  RuleRequest request{text.substr(0, comma), "{}", {}};
  if (request.name.empty()) throw UsageError("--rule needs a rule's name");
  const size_t end = request.name.find_first_of(":=( ");
  if (end != std::string::npos && end > 0) {
    throw UsageError("--rule " + Printable(Shortened(request.name, 60)) +
                     ": a comma comes before each parameter, as in " +
                     Printable(Shortened(request.name.substr(0, end), 40)) + ",NAME=VALUE");
  }
  if (comma == std::string::npos) return request;
  const std::string rest = text.substr(comma + 1);
  if (rest.starts_with("{")) {
    request.parameters = rest;
    request.given = {{"JSON", rest}};
  } else {
    request.given = ParseParameters(request.name, rest);
    request.parameters = ToJson(request.given);
  }
  return request;
}

RuleSet MakeRuleSet(const std::string &profile, const std::vector<RuleRequest> &requests,
                    std::vector<SkippedRule> *skipped) {
  if (profile == "llm" && requests.empty()) return RuleSet(Profile::kLlm);
  RuleSet set(profile == "aws" ? Profile::kAws : Profile::kCalibrated);
  for (const RuleRequest &request : requests) set.Add(request.name, request.parameters);
  if (!requests.empty()) return set;
  set.AddAll();
  std::set<std::string> held;
  for (const RuleResult &result : set.Results()) held.insert(result.rule);
  for (const RuleInfo &rule : BuiltinRules()) {
    if (!rule.set.empty() || held.contains(rule.name)) continue;
    try {
      set.Add(rule.name);
    } catch (const Error &error) {
      if (error.Code() != SMD_INVALID_CONFIG) throw;
      skipped->push_back({rule.name, error.what()});
    }
  }
  return set;
}

}  // namespace smdebug::cli
