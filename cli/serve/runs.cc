#include "serve/runs.h"

#include <algorithm>
#include <iterator>

#include "serve/request.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostOpen = 32;
constexpr size_t kMostOpenBytes = 24 << 20;  // estimated
constexpr size_t kFewestOpen = 2;
constexpr size_t kMostWanted = 200;
constexpr std::chrono::seconds kWantedFor{30};
constexpr std::chrono::seconds kRankedFor{150};  // most programs ask each minute
constexpr size_t kMostRanked = 20'000;

std::string IdOf(const std::string &path) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : path) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string id;
  for (int shift = 60; shift >= 0; shift -= 4) id += kHex[(hash >> shift) & 15];
  return id;
}

bool IsSame(const ListedRun &a, const ListedRun &b) {
  return a.name == b.name && a.path == b.path && a.state == b.state && a.steps == b.steps &&
         a.last_step == b.last_step && a.workers == b.workers && a.last_time == b.last_time &&
         a.problem == b.problem;
}

// Returns true if a job that had ended runs again, or another one took its place.  A run that
// cannot be read for a moment has no steps.
bool HasBegunAgain(const ListedRun &before, const ListedRun &now) {
  if (now.state == "unreadable") return false;
  const bool is_another = before.first_time != 0 && now.first_time != before.first_time;
  return is_another || now.last_step < before.last_step || (before.HasEnded() && !now.HasEnded());
}

// Gives runs of several paths that have one name a longer part of their paths.
void TellApart(std::vector<ListedRun> *rows) {
  std::map<std::string, size_t> count;
  for (const ListedRun &row : *rows) ++count[row.name];
  for (ListedRun &row : *rows) {
    if (count[row.name] < 2) continue;
    const size_t own = row.path.rfind(row.name);
    const size_t above = own == std::string::npos || own < 2 ? 0 : row.path.rfind('/', own - 2);
    row.name = row.path.substr(above == std::string::npos || above == 0 ? 0 : above + 1);
  }
}

}  // namespace

Runs::Runs(RunChoice choice, const TrialArguments &arguments)
    : choice_(std::move(choice)), arguments_(arguments) {}

void Runs::Scan() {
  std::map<std::string, std::shared_ptr<const Run>> runs;
  std::vector<std::string> problems;
  std::map<std::string, std::shared_ptr<const Run>> known;
  std::set<std::string> begun_again;
  {
    const std::lock_guard lock(mutex_);
    known = runs_;
  }
  std::vector<ListedRun> rows;
  for (const std::string &path : choice_.paths) {
    try {
      std::vector<ListedRun> listed = ListRuns(path, choice_.settings);
      std::move(listed.begin(), listed.end(), std::back_inserter(rows));
    } catch (const Error &error) {
      problems.emplace_back(error.what());
      // A path that cannot be reached for a moment keeps its runs.
      for (const auto &[id, run] : known) {
        if (run->row.path.starts_with(path)) runs.try_emplace(id, run);
      }
    }
  }
  TellApart(&rows);
  bool has_changed = false;
  for (ListedRun &row : rows) {
    std::string id = IdOf(row.path);
    // Two paths with one hash.
    while (runs.count(id) > 0 && runs[id]->row.path != row.path) id = IdOf(id);
    const auto before = known.find(id);
    if (before != known.end() && IsSame(before->second->row, row)) {
      runs[id] = before->second;
      continue;
    }
    has_changed = true;
    auto summary = before == known.end() ? nullptr : before->second->summary;
    if (before != known.end() && HasBegunAgain(before->second->row, row)) {
      summary = nullptr;
      begun_again.insert(id);
    }
    runs[id] = std::make_shared<const Run>(Run{id, std::move(row), std::move(summary)});
  }
  Exchange(std::move(runs), std::move(problems), begun_again, has_changed);
}

void Runs::Exchange(std::map<std::string, std::shared_ptr<const Run>> runs,
                    std::vector<std::string> problems, const std::set<std::string> &begun_again,
                    bool has_changed) {
  const std::lock_guard lock(mutex_);
  has_changed = has_changed || runs.size() != runs_.size() || problems != problems_;
  // A summary may have come meanwhile.
  for (auto &[id, run] : runs) {
    const auto now = runs_.find(id);
    const bool is_known = now != runs_.end() && now->second->summary != run->summary;
    if (!is_known || begun_again.count(id) > 0) continue;
    run = std::make_shared<const Run>(Run{id, run->row, now->second->summary});
  }
  std::erase_if(opened_, [&](const auto &each) {
    return runs.count(each.first) == 0 || begun_again.count(each.first) > 0;
  });
  runs_ = std::move(runs);
  problems_ = std::move(problems);
  if (has_changed) ++version_;
}

uint64_t Runs::Version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::vector<std::shared_ptr<const Run>> Runs::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Run>> all;
  all.reserve(runs_.size());
  for (const auto &[id, run] : runs_) all.push_back(run);
  return all;
}

std::shared_ptr<const Run> Runs::Find(const std::string &id) const {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(id);
  if (found == runs_.end())
    throw BadRequest(404,
                     "There is no such run: it was removed, or another server showed it. The list "
                     "has all runs.");
  return found->second;
}

std::vector<std::string> Runs::Problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

std::shared_ptr<OpenRun> Runs::Open(const std::string &id) {
  const std::shared_ptr<const Run> run = Find(id);
  const auto find = [&]() -> std::shared_ptr<OpenRun> {
    const std::lock_guard lock(mutex_);
    const auto found = opened_.find(id);
    if (found == opened_.end()) return nullptr;
    found->second.used = ++uses_;
    return found->second.run;
  };
  if (auto opened = find()) return opened;
  const std::lock_guard opening(opening_);
  if (auto opened = find()) return opened;
  auto opened =
      std::make_shared<OpenRun>(id, run->row.name, run->row.path, arguments_, choice_.rules);
  const std::lock_guard lock(mutex_);
  opened_[id] = {opened, ++uses_};
  Close();
  return opened;
}

// Closes the runs that were not used for the longest time, but for those that somebody holds: a
// page, or the evaluation, which would begin again.
void Runs::Close() {
  size_t bytes = 0;
  std::vector<std::pair<uint64_t, std::string>> idle;
  for (const auto &[id, each] : opened_) {
    bytes += each.run->Bytes();
    if (each.run.use_count() == 1) idle.emplace_back(each.used, id);
  }
  std::sort(idle.begin(), idle.end());
  for (const auto &[used, id] : idle) {
    const bool is_much = bytes > kMostOpenBytes && opened_.size() > kFewestOpen;
    if (opened_.size() <= kMostOpen && !is_much) return;
    bytes -= opened_[id].run->Bytes();
    opened_.erase(id);
  }
}

bool Runs::IsOpen(const std::string &id) const {
  const std::lock_guard lock(mutex_);
  return opened_.count(id) > 0;
}

std::vector<std::shared_ptr<OpenRun>> Runs::Opened() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<OpenRun>> all;
  for (const auto &[id, each] : opened_) all.push_back(each.run);
  return all;
}

void Runs::Want(const std::vector<std::string> &ids) {
  Note(ids, kMostWanted, kWantedFor, &wanted_);
}

void Runs::Rank(const std::vector<std::string> &ids) {
  Note(ids, kMostRanked, kRankedFor, &ranked_);
}

void Runs::Note(const std::vector<std::string> &ids, size_t most, Clock::duration lasting,
                Wishes *wishes) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::erase_if(*wishes, [&](const auto &each) { return now - each.second > lasting; });
  for (const std::string &id : ids) {
    const bool has_place = wishes->size() < most || wishes->count(id) > 0;
    if (runs_.count(id) > 0 && has_place) (*wishes)[id] = now;
  }
}

std::vector<std::string> Runs::Wanted() const {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::vector<std::string> ids;
  for (const auto &[id, time] : wanted_) {
    if (now - time <= kWantedFor) ids.push_back(id);
  }
  for (const auto &[id, time] : ranked_) {
    if (now - time <= kRankedFor && wanted_.count(id) == 0) ids.push_back(id);
  }
  return ids;
}

void Runs::SetSummary(const std::string &id, RunSummary summary) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  found->second = std::make_shared<const Run>(
      Run{id, found->second->row, std::make_shared<const RunSummary>(std::move(summary))});
  ++version_;
}

}  // namespace smdebug::cli::serve
