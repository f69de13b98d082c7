#include "profile_rules/phase_table.h"

#include <algorithm>

#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

// A timeline may have a phase for each module.
constexpr size_t kMostPhases = 40;

void SetQuantiles(const std::vector<double> &times, PhaseRow *row) {
  const Quantiles all(times);
  row->p50 = all.At(0.5);
  row->p95 = all.At(0.95);
  row->p99 = all.At(0.99);
  row->most = all.Most();
}

void AddParts(const std::string &worker, const WorkerSteps &steps, std::vector<PhaseRow> *rows) {
  std::vector<double> times;
  for (const Cycle &cycle : steps.Cycles()) times.push_back(cycle.length);
  PhaseRow whole{worker, "step", "step", steps.CycleCount(), 1, steps.Length()};
  SetQuantiles(times, &whole);
  rows->push_back(std::move(whole));
  for (size_t i = 0; i < kPartCount; ++i) {
    const auto part = static_cast<Part>(i);
    if (steps.Sum(part) <= 0) continue;
    times.clear();
    for (const Cycle &cycle : steps.Cycles()) times.push_back(cycle.Of(part));
    PhaseRow row{worker,
                 std::string(PartName(part)),
                 i < kExclusiveParts ? "part" : "overlap",
                 steps.CycleCount(),
                 steps.ShareOf(part),
                 steps.Sum(part)};
    SetQuantiles(times, &row);
    rows->push_back(std::move(row));
  }
}

void AddPhases(const std::string &worker, const WorkerSteps &steps, const NameTable &names,
               std::vector<PhaseRow> *rows) {
  std::vector<std::pair<NameId, PhaseTime>> phases(steps.Phases().begin(), steps.Phases().end());
  std::stable_sort(phases.begin(), phases.end(), [](const auto &left, const auto &right) {
    return left.second.self > right.second.self;
  });
  if (phases.size() > kMostPhases) phases.resize(kMostPhases);
  for (const auto &[name, time] : phases) {
    PhaseRow row{worker, names.NameOf(name), "phase", time.count};
    row.total = time.self;
    row.share = steps.Length() > 0 ? time.self / steps.Length() : 0;
    rows->push_back(std::move(row));
  }
}

}  // namespace

std::vector<PhaseRow> PhaseTable(const Summary &summary) {
  std::vector<PhaseRow> rows;
  for (const auto &[worker, steps] : summary.Workers()) {
    const std::string &name = summary.Names().NameOf(worker);
    if (steps.CycleCount() > 0) AddParts(name, steps, &rows);
    AddPhases(name, steps, summary.Names(), &rows);
  }
  return rows;
}

}  // namespace smdebug::profile_rules
