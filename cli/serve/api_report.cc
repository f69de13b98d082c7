#include <sstream>

#include "report/request.h"
#include "serve/api.h"

namespace smdebug::cli::serve {
namespace {

// Returns a name that no header and no file system takes amiss.
std::string FileNameOf(const std::string &run) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-";
  constexpr size_t kMost = 80;
  std::string name = run.substr(0, kMost);
  for (char &each : name) {
    if (kPlain.find(each) == std::string_view::npos) each = '_';
  }
  return name + ".html";
}

}  // namespace

// Evaluates the rules anew, so that the page is that of `smdebug report`.
Response AnswerReport(const ApiContext &context, const Request &request) {
  const std::shared_ptr<const Run> run = context.runs.Find(request.Text("id"));
  const RuleChoice &rules = context.runs.Rules();
  const Trial trial = context.runs.OpenTrial(*run);
  Damage damage;
  std::ostringstream page;
  report::WriteReport({trial, rules.requests, rules.profile, damage}, page);
  Response response{200, "text/html; charset=utf-8", page.str()};
  // It has scripts of its own, which no page of this server may run.
  response.headers.emplace_back("Content-Disposition",
                                "attachment; filename=\"" + FileNameOf(run->row.name) + "\"");
  return response;
}

}  // namespace smdebug::cli::serve
