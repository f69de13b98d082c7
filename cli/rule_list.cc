#include "rule_list.h"

#include "exit_code.h"
#include "json_reader.h"
#include "json_writer.h"
#include "text.h"

namespace smdebug::cli {
namespace {

// The parameters "k=v,k=v" as an object.  A piece without "=" belongs to the value before it, so
// that lists of names can be given.
std::string ParametersToJson(const std::string &rule, const std::string &text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const std::string &piece : Split(text, ',')) {
    const size_t equals = piece.find('=');
    if (equals != std::string::npos && equals > 0) {
      parameters.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
    } else if (equals == std::string::npos && !parameters.empty()) {
      parameters.back().second += "," + piece;
    } else {
      throw UsageError("--rule " + rule + " wants NAME=VALUE after the comma, not '" +
                       Printable(piece) + "'");
    }
  }
  JsonWriter json;
  json.BeginObject();
  for (const auto &[name, value] : parameters) json.Key(name).Text(value);
  return json.EndObject().Take();
}

}  // namespace

std::vector<RuleInfo> BuiltinRules() {
  std::vector<RuleInfo> rules;
  const Json parsed = ParseJson(Panel::RulesToJson());
  for (const Json &rule : parsed.items) {
    RuleInfo &info = rules.emplace_back();
    info.name = rule.TextOf("name");
    info.summary = rule.TextOf("summary");
    for (const Json &parameter : rule.Of("parameters").items) {
      info.parameters.push_back({parameter.TextOf("name"), parameter.TextOf("aws"),
                                 parameter.TextOf("calibrated"), parameter.TextOf("meaning")});
    }
  }
  return rules;
}

RuleRequest ParseRule(const std::string &text) {
  const size_t comma = text.find(',');
  RuleRequest request{text.substr(0, comma), "{}"};
  if (request.name.empty()) throw UsageError("--rule wants a rule's name");
  if (comma == std::string::npos) return request;
  const std::string rest = text.substr(comma + 1);
  request.parameters = rest.starts_with("{") ? rest : ParametersToJson(request.name, rest);
  return request;
}

std::vector<UnaskedRule> AddRules(const std::vector<RuleRequest> &requests, Panel *panel) {
  for (const RuleRequest &request : requests) panel->Add(request.name, request.parameters);
  std::vector<UnaskedRule> unasked;
  if (!requests.empty()) return unasked;
  for (const RuleInfo &rule : BuiltinRules()) {
    try {
      panel->Add(rule.name);
    } catch (const Error &error) {
      if (error.Code() != SMD_INVALID_CONFIG) throw;
      unasked.push_back({rule.name, error.what()});
    }
  }
  return unasked;
}

}  // namespace smdebug::cli
