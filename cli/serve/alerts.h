// Tells a command or a web server about findings.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "serve/runs.h"
#include "serve/work_queue.h"
#include "smdebug.hpp"

namespace smdebug::cli::serve {

// One --on-finding: a URL, or a command for the shell.
class AlertTarget {
 public:
  AlertTarget() = default;
  AlertTarget(const AlertTarget &) = delete;
  AlertTarget &operator=(const AlertTarget &) = delete;
  virtual ~AlertTarget() = default;

  struct Alert {
    std::string run;
    std::string path;
    Finding finding;
    std::string json;
  };
  // Returns why it failed; "" if it did not.
  virtual std::string Send(const Alert &alert) = 0;
};

// Runs `command` in the shell.  The alert is JSON on its stdin, and in variables
// SMDEBUG_FINDING_...; nothing of it becomes a part of the command.
std::unique_ptr<AlertTarget> MakeCommandTarget(std::string command);
// Posts the alert as JSON.  Follows no redirect.  Fails by throwing smdebug::Error or UsageError.
std::unique_ptr<AlertTarget> MakeWebTarget(const std::string &url);
bool IsWebTarget(const std::string &text);

// Any thread.
class Alerts {
 public:
  explicit Alerts(const std::vector<std::string> &targets);
  // Sends what waits, for a few seconds, and complains of what is left.
  ~Alerts();
  Alerts(const Alerts &) = delete;
  Alerts &operator=(const Alerts &) = delete;

  bool IsEmpty() const { return targets_.empty(); }
  // Sends the finding in another thread, unless one of that run and job with the same rule, check,
  // tensor and worker was sent before.
  void Send(const Run &run, const std::string &name, const Finding &finding);

 private:
  void Deliver(const AlertTarget::Alert &alert);

  std::vector<std::unique_ptr<AlertTarget>> targets_;
  std::mutex mutex_;
  std::set<std::string> sent_;
  std::unique_ptr<WorkQueue> queue_;
};

}  // namespace smdebug::cli::serve
