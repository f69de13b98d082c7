#include "serve/runs.h"

#include <algorithm>
#include <string_view>
#include <utility>

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

// Returns true if another job took a job's place.  A run that cannot be read for a moment has no
// steps.
bool IsAnother(const ListedRun &before, const ListedRun &now) {
  if (now.state == "unreadable") return false;
  const bool began_later = before.first_time != 0 && now.first_time != before.first_time;
  return began_later || now.last_step < before.last_step;
}

// Returns true if that is so, or a job that had ended goes on.
bool HasBegunAgain(const ListedRun &before, const ListedRun &now) {
  const bool goes_on = before.HasEnded() && !now.HasEnded() && now.state != "unreadable";
  return goes_on || IsAnother(before, now);
}

// Returns the length of the longest folder that holds both, with a slash.
size_t SharedFolder(std::string_view one, std::string_view other) {
  const auto [end, ignored] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return one.substr(0, static_cast<size_t>(end - one.begin())).rfind('/') + 1;
}

// Gives runs of one name longer names, and the others too, so that all look alike.
void TellApart(std::vector<Run> *runs) {
  std::set<std::string_view> names;
  const bool differ = std::all_of(runs->begin(), runs->end(), [&](const Run &run) {
    return names.insert(run.row.name).second;
  });
  if (differ) return;
  size_t shared = std::string::npos;
  const std::string_view first = runs->front().row.path;
  for (const Run &run : *runs) shared = std::min(shared, SharedFolder(first, run.row.path));
  for (Run &run : *runs) run.row.name = run.row.path.substr(shared);
}

}  // namespace

Runs::Runs(RunChoice choice, const TrialArguments &arguments)
    : choice_(std::move(choice)), arguments_(arguments), was_listed_(choice_.paths.size()) {}

void Runs::Scan() {
  Listing listing;
  ById known;
  {
    const std::lock_guard lock(mutex_);
    known = runs_;
  }
  for (size_t i = 0; i < choice_.paths.size(); ++i) List(i, known, &listing);
  TellApart(&listing.found);
  for (Run &run : std::exchange(listing.found, {})) AddFound(std::move(run), known, &listing);
  Exchange(std::move(listing));
}

void Runs::List(size_t argument, const ById &known, Listing *listing) {
  try {
    for (ListedRun &row : ListRuns(choice_.paths[argument], choice_.settings)) {
      if (!listing->paths.insert(row.path).second) continue;
      const int64_t known_to = was_listed_[argument] ? -1 : row.last_step;
      listing->found.push_back({"", std::move(row), nullptr, argument, known_to});
    }
    was_listed_[argument] = true;
  } catch (const Error &error) {
    listing->problems.emplace_back(error.what());
    // A path that cannot be reached for a moment keeps its runs.
    for (const auto &[id, run] : known) {
      if (run->argument == argument) listing->runs.try_emplace(id, run);
    }
  }
}

void Runs::AddFound(Run found, const ById &known, Listing *listing) {
  ById &runs = listing->runs;
  found.id = IdOf(found.row.path);
  // Two paths with one hash.
  while (runs.count(found.id) > 0 && runs[found.id]->row.path != found.row.path) {
    found.id = IdOf(found.id);
  }
  const auto before = known.find(found.id);
  if (before != known.end() && IsSame(before->second->row, found.row)) {
    runs[found.id] = before->second;
    return;
  }
  listing->has_changed = true;
  const bool is_new = before == known.end() || IsAnother(before->second->row, found.row);
  found.job = is_new ? ++jobs_ : before->second->job;
  if (before != known.end()) {
    if (found.row.state == "unreadable") {
      found.row.first_time = before->second->row.first_time;
      found.row.last_step = before->second->row.last_step;
    }
    if (HasBegunAgain(before->second->row, found.row)) {
      listing->begun_again.insert(found.id);
    } else {
      found.summary = before->second->summary;
      found.known_to = before->second->known_to;
    }
  }
  const std::string id = found.id;
  runs[id] = std::make_shared<const Run>(std::move(found));
}

void Runs::Exchange(Listing listing) {
  const std::lock_guard lock(mutex_);
  const bool has_changed =
      listing.has_changed || listing.runs.size() != runs_.size() || listing.problems != problems_;
  const auto has_begun_again = [&](const std::string &id) {
    return listing.begun_again.count(id) > 0;
  };
  // A summary may have come meanwhile.
  for (auto &[id, run] : listing.runs) {
    const auto now = runs_.find(id);
    const bool is_newer = now != runs_.end() && now->second->summary != run->summary;
    if (!is_newer || has_begun_again(id)) continue;
    Run with_summary = *run;
    with_summary.summary = now->second->summary;
    run = std::make_shared<const Run>(std::move(with_summary));
  }
  std::erase_if(opened_, [&](const auto &each) {
    return listing.runs.count(each.first) == 0 || has_begun_again(each.first);
  });
  runs_ = std::move(listing.runs);
  problems_ = std::move(listing.problems);
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

std::shared_ptr<const Run> Runs::FindListed(const std::string &id) const {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : found->second;
}

std::shared_ptr<const Run> Runs::Find(const std::string &id) const {
  auto found = FindListed(id);
  if (found == nullptr)
    throw BadRequest(404,
                     "There is no such run: it was removed, or another server showed it. The list "
                     "has all runs.");
  return found;
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
  Run run = *found->second;
  run.summary = std::make_shared<const RunSummary>(std::move(summary));
  found->second = std::make_shared<const Run>(std::move(run));
  ++version_;
}

}  // namespace smdebug::cli::serve
