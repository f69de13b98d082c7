#include "finding_json.h"

#include <cmath>

#include "numbers.h"

namespace smdebug::cli {
namespace {

void NumberOrNull(double number, JsonWriter *json) {
  std::isnan(number) ? json->Null() : json->Number(number);
}

// Findings about a trial or profile as a whole have no step.
void WholeOrNull(int64_t number, JsonWriter *json) {
  number < 0 ? json->Null() : json->Whole(number);
}

void TextOrNull(const std::string &text, JsonWriter *json) {
  text.empty() ? json->Null() : json->Text(text);
}

}  // namespace

void ToJson(const Finding &finding, JsonWriter *json) {
  json->BeginObject().Key("rule").Text(finding.rule).Key("status").Text(Name(finding.level));
  WholeOrNull(finding.step, &json->Key("step"));
  json->Key("mode").Text(ModeName(finding.mode));
  WholeOrNull(finding.mode_step, &json->Key("mode_step"));
  TextOrNull(finding.worker, &json->Key("worker"));
  TextOrNull(finding.tensor, &json->Key("tensor"));
  NumberOrNull(finding.value, &json->Key("value"));
  NumberOrNull(finding.limit, &json->Key("limit"));
  TextOrNull(finding.check, &json->Key("check"));
  json->Key("action").Text(Name(finding.action));
  json->Key("message").Text(finding.message).EndObject();
}

}  // namespace smdebug::cli
