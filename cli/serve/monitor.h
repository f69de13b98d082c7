// Lists runs and evaluates rules in the background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "serve/alerts.h"
#include "serve/runs.h"

namespace smdebug::cli::serve {

class Monitor {
 public:
  // Both must outlive this.  Starts two threads.
  Monitor(Runs &runs, Alerts &alerts);
  ~Monitor();
  Monitor(const Monitor &) = delete;
  Monitor &operator=(const Monitor &) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void List();
  void Evaluate();
  // Returns true if there is more to do.
  bool EvaluateAll();
  bool EvaluateOne(const std::string &id);
  // Opens a run, unless it has no news or must wait for its turn: then returns NULL.
  std::shared_ptr<OpenRun> Turn(const Run &known);
  // Returns the runs to evaluate, the ones on a screen first.
  std::vector<std::string> WhichRuns() const;
  // Gives the system what evaluations and pages no longer use, now and then.
  void ReturnMemory();
  // Waits; returns false if the threads must end.
  bool Pause(Clock::duration time);

  Runs &runs_;
  Alerts &alerts_;
  std::mutex mutex_;
  std::condition_variable ends_now_;
  bool ends_ = false;
  // The runs that are evaluated.  They stay open until that is done, as a run that is opened again
  // is evaluated from its first step on; so only a few are at once.
  std::map<std::string, std::shared_ptr<OpenRun>> in_turn_;
  // The last step and the state of runs when all of them was evaluated.
  std::map<std::string, std::pair<int64_t, std::string>> done_;
  std::map<std::string, Clock::time_point> failed_;      // runs that cannot be opened
  std::map<std::string, Clock::time_point> summarized_;  // when
  Clock::time_point memory_returned_{};
  std::thread lister_;
  std::thread evaluator_;
};

// Reads what the list shows of a run.  Fails as OpenRun::Read().
RunSummary Summarize(OpenRun &run);

}  // namespace smdebug::cli::serve
