// The runs below the paths that a user gave: their list, and the ones that are open.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/open_run.h"
#include "serve/scan_rows.h"

namespace smdebug::cli::serve {

// What the list shows of a run beyond its row, once it was read.
struct RunSummary {
  int64_t of_step = -1;
  int64_t evaluated_to = -1;
  bool has_heard_end = false;  // whether rules heard that the job has ended
  std::string loss_name;
  std::optional<double> loss;     // the last one
  std::vector<double> sparkline;  // of the loss
  size_t findings = 0;
  std::string rule;   // of the first finding
  std::string cause;  // the likeliest
  size_t kinds = 0;   // findings that differ in rule, check, tensor or worker
  struct {
    std::string rule;
    int64_t step = -1;
    std::string message;
  } latest;  // of these
};

struct Run {
  std::string id;
  ListedRun row;
  std::shared_ptr<const RunSummary> summary;  // NULL: not read yet
  size_t argument = 0;                        // the number of the path that listed it
  // The last step when its path was listed for the first time; -1 if the run came later.  Findings
  // up to it are no news.
  int64_t known_to = -1;
  // A number of this job, and of no other that was, or will be, recorded into the same folder.
  int64_t job = 0;

  // Returns true if its job has ended, and the summary says all of it.
  bool IsDone() const {
    return row.HasEnded() && summary != nullptr && summary->evaluated_to >= row.last_step &&
           summary->has_heard_end;
  }
};

struct RunChoice {
  std::vector<std::string> paths;
  Settings settings;
  RuleChoice rules;
};

// Any thread.  The id of a run is derived from its path and stays the same.  Requests name runs by
// ids alone, so that no request names a path.
class Runs {
 public:
  // `arguments` must outlive this.
  Runs(RunChoice choice, const TrialArguments &arguments);

  // Lists the runs again.  One thread at a time.  Problems of a path are kept for Problems().
  void Scan();
  // Grows whenever the list or a summary changes.
  uint64_t Version() const;
  std::vector<std::shared_ptr<const Run>> All() const;
  // Returns NULL if there is no such run.
  std::shared_ptr<const Run> FindListed(const std::string &id) const;
  // Throws BadRequest (404) if there is no such run.
  std::shared_ptr<const Run> Find(const std::string &id) const;
  std::vector<std::string> Problems() const;
  const Settings &GetSettings() const { return choice_.settings; }
  const RuleChoice &Rules() const { return choice_.rules; }

  // Opens a run, and closes those that were not used for the longest time if they are too many.
  // Fails as Find() and OpenRun().
  std::shared_ptr<OpenRun> Open(const std::string &id);
  bool IsOpen(const std::string &id) const;
  // Opens the run's trial for one use.  Fails as TrialArguments::Open().
  Trial OpenTrial(const Run &run) const { return arguments_.Open(run.row.path); }
  std::vector<std::shared_ptr<OpenRun>> Opened() const;

  // Asks for a summary of these runs, for a while.
  void Want(const std::vector<std::string> &ids);
  // Asks for summaries of many, such as all that a list is sorted by, after those that are wanted.
  void Rank(const std::vector<std::string> &ids);
  // Returns those that are wanted, then the others.
  std::vector<std::string> Wanted() const;
  void SetSummary(const std::string &id, RunSummary summary);

 private:
  using Clock = std::chrono::steady_clock;

  using Wishes = std::map<std::string, Clock::time_point>;  // by id, when

  void Note(const std::vector<std::string> &ids, size_t most, Clock::duration lasting,
            Wishes *wishes);
  void Close();
  using ById = std::map<std::string, std::shared_ptr<const Run>>;
  struct Listing {
    std::vector<Run> found;       // without ids and summaries
    std::set<std::string> paths;  // of these
    ById runs;
    std::vector<std::string> problems;
    std::set<std::string> begun_again;
    bool has_changed = false;
  };
  // Lists the runs of one path, or keeps those that are known if that fails.
  void List(size_t argument, const ById &known, Listing *listing);
  // Adds the run that was found to those with ids.
  void AddFound(Run found, const ById &known, Listing *listing);
  // Replaces what was known.  The runs that have begun again are read anew.
  void Exchange(Listing listing);

  const RunChoice choice_;
  const TrialArguments &arguments_;
  std::vector<bool> was_listed_;  // by path; of Scan()
  int64_t jobs_ = 0;              // found so far; of Scan()
  std::mutex opening_;

  mutable std::mutex mutex_;
  uint64_t version_ = 0;
  ById runs_;
  std::vector<std::string> problems_;
  Wishes wanted_;
  Wishes ranked_;
  struct KeptRun {
    std::shared_ptr<OpenRun> run;
    uint64_t used = 0;
  };
  std::map<std::string, KeptRun> opened_;
  uint64_t uses_ = 0;
};

}  // namespace smdebug::cli::serve
