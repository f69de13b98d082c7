#include "rule_list.h"

#include "exit_code.h"
#include "json_writer.h"
#include "text.h"

namespace smdebug::cli {
namespace {

// Converts the parameters "k=v,k=v" to a JSON object.  A piece without "=" continues the previous
// value, so that a value can be a list of names.
std::string ParametersToJson(const std::string &rule, const std::string &text) {
  std::vector<std::pair<std::string, std::string>> parameters;
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
  JsonWriter json;
  json.BeginObject();
  for (const auto &[name, value] : parameters) json.Key(name).Text(value);
  return json.EndObject().Take();
}

}  // namespace

RuleRequest ParseRule(const std::string &text) {
  const size_t comma = text.find(',');
  RuleRequest request{text.substr(0, comma), "{}"};
  if (request.name.empty()) throw UsageError("--rule needs a rule's name");
  if (comma == std::string::npos) return request;
  const std::string rest = text.substr(comma + 1);
  request.parameters = rest.starts_with("{") ? rest : ParametersToJson(request.name, rest);
  return request;
}

std::vector<SkippedRule> AddRules(const std::vector<RuleRequest> &requests, RuleSet *set) {
  for (const RuleRequest &request : requests) set->Add(request.name, request.parameters);
  std::vector<SkippedRule> skipped;
  if (!requests.empty()) return skipped;
  for (const RuleInfo &rule : BuiltinRules()) {
    try {
      set->Add(rule.name);
    } catch (const Error &error) {
      if (error.Code() != SMD_INVALID_CONFIG) throw;
      skipped.push_back({rule.name, error.what()});
    }
  }
  return skipped;
}

}  // namespace smdebug::cli
