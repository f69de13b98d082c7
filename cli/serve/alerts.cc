#include "serve/alerts.h"

#include <chrono>

#include "finding_json.h"
#include "json_writer.h"
#include "output.h"
#include "serve/judge.h"
#include "text.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostWaiting = 1000;
constexpr size_t kMostKnown = 200'000;
constexpr std::chrono::seconds kLastAlerts{5};  // who ends the server waits for them

std::string KeyOf(const Run &run, const Finding &finding) {
  JsonWriter json;
  json.BeginArray()
      .Text(run.row.path)
      .Whole(run.job)
      .Text(finding.rule)
      .Text(finding.check)
      .Text(finding.tensor);
  return json.Text(finding.worker).EndArray().Take();
}

}  // namespace

Alerts::Alerts(const std::vector<std::string> &targets) {
  for (const std::string &target : targets) {
    targets_.push_back(IsWebTarget(target) ? MakeWebTarget(target) : MakeCommandTarget(target));
  }
  if (!targets_.empty()) queue_ = std::make_unique<WorkQueue>(1, kMostWaiting);
}

Alerts::~Alerts() {
  const size_t left = queue_ ? queue_->End(kLastAlerts) : 0;
  if (left > 0) Complain("warning: --on-finding was not run for " + Count(left, "more finding"));
}

void Alerts::Send(const Run &run, const std::string &name, const Finding &finding) {
  if (targets_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (sent_.size() >= kMostKnown || !sent_.insert(KeyOf(run, finding)).second) return;
  }
  JsonWriter json;
  json.BeginObject().Key("run").Text(name).Key("path").Text(run.row.path).Key("finding");
  ToJson(finding, &json);
  AlertTarget::Alert alert{name, run.row.path, finding, json.EndObject().Take()};
  const bool is_added = queue_->Add([this, alert = std::move(alert)] { Deliver(alert); });
  if (!is_added) {
    Complain("warning: " + Printable(name) + ": --on-finding was not run: " +
             std::to_string(kMostWaiting) + " findings wait for it already");
  }
}

void Alerts::Deliver(const AlertTarget::Alert &alert) {
  for (const auto &target : targets_) {
    std::string why;
    try {
      why = target->Send(alert);
    } catch (const std::exception &error) {
      why = error.what();
    }
    if (!why.empty()) {
      Complain("warning: " + Printable(alert.run) + ": --on-finding failed: " + Printable(why));
    }
  }
}

}  // namespace smdebug::cli::serve
