#include "serve/monitor.h"

#include <malloc.h>
#ifdef __linux__
#include <sys/resource.h>
#endif

#include <algorithm>
#include <limits>

#include "curve_names.h"
#include "report/sampling.h"
#include "saved.h"
#include "serve/request.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::chrono::milliseconds kSlice{80};
constexpr size_t kMostInTurn = 8;
constexpr std::chrono::milliseconds kIdle{500};  // a verdict may come half a second after its step
constexpr std::chrono::seconds kLeastBetweenLists{2};
constexpr int kRestOfList = 50;  // a listing may take a fiftieth of a core
constexpr std::chrono::seconds kBetweenRemoteLooks{2};
constexpr std::chrono::milliseconds kBetweenLooks{100};  // the hub looks more often
constexpr std::chrono::seconds kUntilRetry{10};
constexpr std::chrono::seconds kBetweenSummaries{1};
constexpr size_t kSparklinePoints = 40;

// Lets a training on this machine, a browser and the answers to it go first: verdicts on a long run
// take many seconds of a core.  Where it is refused, nothing is lost.
void YieldToOthers() {
#ifdef __linux__
  constexpr int kLower = 10;
  const int own = getpriority(PRIO_PROCESS, 0);  // both are of this thread
  setpriority(PRIO_PROCESS, 0, own + kLower);    // at most the lowest there is
#endif
}

// Returns the tensor whose numbers stand for the run: a loss, best of the training.
const NamedTensor *ChooseLoss(const Inventory &tensors) {
  const NamedTensor *best = nullptr;
  int best_rank = std::numeric_limits<int>::max();
  for (const NamedTensor &tensor : tensors) {
    if (tensor.kind != TensorKind::kCurve) continue;
    const bool is_loss = IsLoss(tensor.name, tensor.collections);
    const bool is_validation = tensor.name.find("val") != std::string::npos ||
                               tensor.name.find("test") != std::string::npos;
    constexpr std::string_view kScalar = "scalar/";
    const std::string_view name = tensor.name;
    const std::string_view own = name.substr(name.starts_with(kScalar) ? kScalar.size() : 0);
    const bool is_plain = own == "loss" || own == "train_loss";
    const int rank = is_loss ? (is_plain ? 0 : is_validation ? 2 : 1) : 3;
    if (rank >= best_rank) continue;
    best = &tensor;
    best_rank = rank;
  }
  return best;
}

void ReadLoss(OpenRun &run, const NamedTensor &loss, RunSummary *summary) {
  summary->loss_name = loss.name;
  const Tensor tensor = run.GetTrial().Tensor(loss.name);
  std::vector<int64_t> steps = tensor.Steps();
  const int64_t last = run.Steps()->Last();
  std::erase_if(steps, [last](int64_t step) { return step > last; });
  const std::vector<int64_t> some = report::SampleSteps(steps, kSparklinePoints, {});
  Fetch(run.GetTrial(), loss.name, some);
  for (const int64_t step : some) {
    const std::optional<double> value = NumberAt(tensor, step, "mean");
    if (value) summary->sparkline.push_back(*value);
  }
  if (!summary->sparkline.empty()) summary->loss = summary->sparkline.back();
}

}  // namespace

RunSummary Summarize(OpenRun &run) {
  RunSummary summary;
  summary.of_step = run.Steps()->Last();
  const Judge::State state = run.GetJudge().Now();
  summary.evaluated_to = state.evaluated_to;
  summary.has_heard_end = state.has_heard_end;
  summary.findings = state.findings;
  for (const Finding &finding : state.first) {
    if (finding.level != Level::kFinding) continue;
    if (++summary.kinds == 1) summary.rule = finding.rule;
    summary.latest = {finding.rule, finding.step, finding.message};
  }
  if (!state.causes.empty()) summary.cause = state.causes.front().title;
  const std::shared_ptr<const Inventory> tensors = run.Tensors();
  const NamedTensor *const loss = ChooseLoss(*tensors);
  if (loss != nullptr) ReadLoss(run, *loss, &summary);
  return summary;
}

Monitor::Monitor(Runs &runs, Alerts &alerts)
    : runs_(runs),
      alerts_(alerts),
      lister_([this] { List(); }),
      evaluator_([this] { Evaluate(); }) {}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ends_now_.notify_all();
  lister_.join();
  evaluator_.join();
}

bool Monitor::Pause(Clock::duration time) {
  std::unique_lock lock(mutex_);
  return !ends_now_.wait_for(lock, time, [this] { return ends_; });
}

void Monitor::List() {
  Clock::duration pause = std::chrono::seconds(0);
  while (Pause(pause)) {
    const Clock::time_point begin = Clock::now();
    runs_.Scan();
    pause = std::max<Clock::duration>(kLeastBetweenLists, (Clock::now() - begin) * kRestOfList);
  }
}

void Monitor::Evaluate() {
  YieldToOthers();
  bool has_worked = false;
  while (Pause(has_worked ? std::chrono::milliseconds(1) : kIdle)) {
    has_worked = EvaluateAll();
    ReturnMemory();
  }
}

void Monitor::ReturnMemory() {
#ifdef __GLIBC__
  constexpr std::chrono::seconds kBetweenReturns{2};
  if (Clock::now() - memory_returned_ < kBetweenReturns) return;
  malloc_trim(0);
  memory_returned_ = Clock::now();
#endif
}

std::vector<std::string> Monitor::WhichRuns() const {
  std::vector<std::string> ids = runs_.Wanted();
  if (alerts_.IsEmpty()) return ids;
  const std::set<std::string> on_screen(ids.begin(), ids.end());
  for (const auto &run : runs_.All()) {
    const bool is_open = run->row.state == "running" || run->row.last_step > run->known_to;
    if (is_open && !run->IsDone() && on_screen.count(run->id) == 0) ids.push_back(run->id);
  }
  return ids;
}

bool Monitor::EvaluateAll() {
  bool has_worked = false;
  const std::vector<std::string> ids = WhichRuns();
  const std::set<std::string> which(ids.begin(), ids.end());
  std::erase_if(in_turn_, [&](const auto &each) { return which.count(each.first) == 0; });
  for (const std::string &id : ids) {
    if (!Pause(Clock::duration::zero())) return false;
    const auto failed = failed_.find(id);
    if (failed != failed_.end() && Clock::now() - failed->second < kUntilRetry) continue;
    try {
      has_worked = EvaluateOne(id) || has_worked;
    } catch (const std::exception &) {
      // Its page says why: it reads the run, too.
      failed_[id] = Clock::now();
      in_turn_.erase(id);
    }
  }
  return has_worked;
}

std::shared_ptr<OpenRun> Monitor::Turn(const Run &known) {
  const bool has_turn = in_turn_.count(known.id) > 0;
  const bool has_place = has_turn || in_turn_.size() < kMostInTurn;
  if (!has_turn && !runs_.IsOpen(known.id)) {
    const auto done = done_.find(known.id);
    const bool has_news =
        done == done_.end() || done->second != std::pair(known.row.last_step, known.row.state);
    if (!has_news || !has_place) return nullptr;
  }
  // Gives another one if the run has begun again.
  std::shared_ptr<OpenRun> run = runs_.Open(known.id);
  if (has_place) in_turn_[known.id] = run;
  return run;
}

bool Monitor::EvaluateOne(const std::string &id) {
  const std::shared_ptr<const Run> known = runs_.Find(id);
  const RunSummary *const before = known->summary.get();
  if (known->IsDone()) {
    in_turn_.erase(id);
    return false;
  }
  const std::shared_ptr<OpenRun> run = Turn(*known);
  if (!run) return false;
  run->Refresh(run->IsRemote() ? kBetweenRemoteLooks : kBetweenLooks);
  const bool has_moved = run->Advance(kSlice, [&](const Finding &finding) {
    const bool is_news = finding.level == Level::kFinding && finding.step > known->known_to;
    if (is_news) alerts_.Send(*known, run->Name(), finding);
  });
  const Clock::time_point now = Clock::now();
  // One that is evaluated anew tells nothing until it is where it was.
  const int64_t evaluated_to = run->GetJudge().EvaluatedTo();
  const bool has_more = before == nullptr || before->of_step != run->Steps()->Last() ||
                        before->has_heard_end != run->GetJudge().HasHeardEnd();
  const bool is_stale = before == nullptr || evaluated_to > before->evaluated_to ||
                        (evaluated_to == before->evaluated_to && has_more);
  const bool is_due = before == nullptr || !has_moved || now - summarized_[id] >= kBetweenSummaries;
  if (is_stale && is_due) {
    runs_.SetSummary(id, Summarize(*run));
    summarized_[id] = now;
  }
  if (!has_moved) {
    in_turn_.erase(id);
    done_[id] = {known->row.last_step, known->row.state};
  }
  // One that has caught up with its job waits for steps.
  const std::shared_ptr<const StepTable> steps = run->Steps();
  return has_moved && (evaluated_to < steps->Last() || steps->has_ended);
}

}  // namespace smdebug::cli::serve
