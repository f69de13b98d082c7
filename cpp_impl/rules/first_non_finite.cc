// The first tensor that is not a number, or infinite.
#include <cmath>
#include <deque>
#include <map>

#include "base/strings.h"
#include "rules/builtin.h"
#include "rules/named_tensors.h"
#include "rules/selector.h"
#include "rules/tensor_names.h"
#include "rules/tensor_states.h"
#include "rules/words.h"

namespace smdebug::rules {
namespace {

// A norm that grew by less over the steps that are remembered is said to stand still.
constexpr double kLeastGrowth = 2;

using Norms = std::deque<std::pair<int64_t, double>>;  // by step; all finite

struct NonFinite {
  int64_t nan = 0;
  int64_t inf = 0;
  int64_t count = 0;

  int64_t Total() const { return nan + inf; }
};

std::string StepsText(const Norms &norms) {
  std::string values;
  std::string steps;
  for (const auto &[step, norm] : norms) {
    values += StrCat(values.empty() ? "" : ", ", Shortest(norm));
    steps += StrCat(steps.empty() ? "" : ", ", step);
  }
  return StrCat(values, norms.size() == 1 ? " at step " : " at steps ", steps);
}

// The place from which on each norm is larger than the one before; nothing if that did not
// make it much larger.
std::optional<size_t> GrowthOf(const Norms &norms) {
  if (norms.size() < 2) return {};
  size_t begin = norms.size() - 1;
  while (begin > 0 && norms[begin].second > norms[begin - 1].second) --begin;
  if (norms.back().second < kLeastGrowth * norms[begin].second) return {};
  return begin;
}

std::string HistoryText(const Norms &norms) {
  if (norms.empty()) return "; it has no value at an earlier step";
  const auto growth = GrowthOf(norms);
  return StrCat("; its norm was ", StepsText(norms),
                growth ? StrCat(" and began to grow at step ", norms[*growth].first)
                       : std::string(" and did not grow"));
}

class FirstNonFinite final : public Detector {
 public:
  FirstNonFinite(Selector selector, int64_t window, bool loss_scaling)
      : Detector("FirstNonFinite"),
        selector_(std::move(selector)),
        window_(static_cast<size_t>(window)),
        loss_scaling_(loss_scaling) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return IsAmong(selector_, tensor, membership);
  }

  void Observe(const Sample &sample, Findings &findings) override {
    const std::optional<NonFinite> found = Count(sample);
    if (!found) return;
    NoteJudged();
    Worker &worker = workers_[std::string(sample.Worker())];
    if (found->Total() == 0) {
      Remember(sample);
    } else if (!worker.is_told) {
      Found(sample, *found, &worker, findings);
    }
  }

  void EndStep(Findings &findings) override {
    // Scaled gradients that overflow make their step skipped: nothing comes of them.
    for (auto &[name, worker] : workers_) {
      if (worker.suspect && worker.suspect->place.step < findings.Place().step) {
        worker.suspect.reset();
      }
    }
  }

 private:
  struct Worker {
    bool is_told = false;
    std::optional<Verdict> suspect;  // a gradient, of this step or the one before
  };

  // Of elements that were not saved, reductions that are not finite count as one.
  static std::optional<NonFinite> Count(const Sample &sample) {
    if (const tensor::Statistics *statistics = sample.GetStatistics()) {
      return NonFinite{statistics->nan_count, statistics->inf_count, statistics->count};
    }
    std::optional<NonFinite> found;
    for (const auto kind : {tensor::ReductionKind::kMin, tensor::ReductionKind::kMax,
                            tensor::ReductionKind::kMean, tensor::ReductionKind::kL2}) {
      for (const bool absolute : {false, true}) {
        const std::optional<double> value = sample.Reduce({kind, absolute});
        if (!value) continue;
        if (!found) found.emplace();
        if (std::isnan(*value)) found->nan = 1;
        if (std::isinf(*value)) found->inf = 1;
      }
    }
    return found;
  }

  void Remember(const Sample &sample) {
    const auto norm = sample.Reduce({tensor::ReductionKind::kL2, false});
    if (!norm || !std::isfinite(*norm)) return;
    Norms &norms = norms_.Of(sample);
    norms.emplace_back(sample.Place().step, *norm);
    if (norms.size() > window_) norms.pop_front();
  }

  void Found(const Sample &sample, const NonFinite &found, Worker *worker, Findings &findings) {
    const bool is_gradient = WeightOfGradient(sample.Tensor()) != sample.Tensor();
    if (loss_scaling_ && is_gradient) {
      if (!worker->suspect) worker->suspect = VerdictOn(sample, found);
      return;
    }
    worker->is_told = true;
    if (!worker->suspect) {
      findings.Add(VerdictOn(sample, found));
      return;
    }
    worker->suspect->message +=
        StrCat("; '", sample.Tensor(), "' followed at step ", sample.Place().step);
    findings.Add(*std::exchange(worker->suspect, std::nullopt));
  }

  Verdict VerdictOn(const Sample &sample, const NonFinite &found) {
    Verdict verdict;
    verdict.place = sample.Place();
    verdict.worker = sample.Worker();
    verdict.tensor = sample.Tensor();
    verdict.label = found.nan > 0 ? "nan" : "inf";
    verdict.value = static_cast<double>(found.Total());
    verdict.limit = 0;
    const std::string what = found.count == 0 ? std::string("a reduction that is no finite number")
                                              : StrCat(found.nan, " NaN and ", found.inf,
                                                       " infinite of ", found.count, " elements");
    verdict.message =
        StrCat("'", sample.Tensor(), "' is the first tensor that is not finite, with ", what,
               HistoryText(norms_.Of(sample)));
    return verdict;
  }

  const Selector selector_;
  const size_t window_;
  const bool loss_scaling_;
  std::map<std::string, Worker> workers_;
  TensorStates<Norms> norms_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "None", "None", kCollectionNamesMeaning},
    {"tensor_regex", "None", "None", kTensorRegexMeaning},
    {"window", "8", "8", "how many steps' norms of each tensor are remembered"},
    {"loss_scaling", "False", "False",
     "whether gradients may overflow as long as no other tensor does at that step or the next"},
    kSample,
};

Result<std::unique_ptr<Detector>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t window, parameters.Whole("window", 1, 1'000));
  SMD_ASSIGN_OR_RETURN(const bool loss_scaling, parameters.Switch("loss_scaling"));
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters));
  return std::unique_ptr<Detector>(
      std::make_unique<FirstNonFinite>(std::move(selector), window, loss_scaling));
}

}  // namespace

const RuleSpec kFirstNonFinite = {
    "FirstNonFinite", "a tensor holds what is not a finite number: the first one is told",
    kParameters, Make};

}  // namespace smdebug::rules
