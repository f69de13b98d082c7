// Finds tensors that hold NaN or infinity, or grow towards it.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/masks.h"
#include "rules/support/named_tensors.h"
#include "rules/support/optimizer_state.h"
#include "rules/support/overflows.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Limits {
  bool only_nan;
  std::optional<double> max_abs;
  std::optional<double> growth;
  double growth_floor;
  bool loss_scaling;
};

// A norm that grew above the usual must also exceed the record of earlier norms by this factor.  A
// converged model occasionally meets a hard batch.
constexpr double kLeastRecord = 10;
// Where gradients are nearly 0, as before a recurrent network gets going or when little is left to
// learn, a single batch may cause one of usual size.  So their growth has to last.
constexpr int64_t kLeastStepsOfGradient = 3;

// Keeps the last norms of a tensor and the largest norm before them.
class Norms {
 public:
  bool IsEmpty() const { return count_ == 0; }
  bool IsEnough() const { return count_ >= kLeast; }
  void Add(double norm) {
    double &oldest = norms_[count_ % kMost];
    // The first norms belong to the start of the training.
    if (count_ < kLeast || count_ >= kMost)
      record_ = std::max(record_, count_ < kLeast ? norm : oldest);
    oldest = norm;
    ++count_;
  }
  bool IsRecord(double norm) const { return norm > kLeastRecord * record_; }
  // Returns the median, or nothing if `norm` is at most `factor` times the median.
  std::optional<double> MedianBelow(double norm, double factor) const {
    std::array<double, kMost> norms = norms_;
    const auto end = norms.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kMost));
    // This check is cheap for usual norms, and nearly all norms are usual.
    if (!(norm > factor * *std::min_element(norms.begin(), end))) return std::nullopt;
    const auto middle = norms.begin() + (end - norms.begin()) / 2;
    std::nth_element(norms.begin(), middle, end);
    return *middle > 0 && norm > factor * *middle ? std::optional(*middle) : std::nullopt;
  }

 private:
  static constexpr size_t kLeast = 5;
  static constexpr size_t kMost = 25;

  std::array<double, kMost> norms_{};
  size_t count_ = 0;
  double record_ = 0;
};

struct Grown {
  Norms norms;
  int64_t steps = 0;  // in a row, with a norm that grew too much
};

class ExplodingTensor final : public Rule {
 public:
  ExplodingTensor(Selector selector, const Limits &limits)
      : Rule("ExplodingTensor"),
        selector_(std::move(selector)),
        limits_(limits),
        overflows_(limits.loss_scaling) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return IsAmong(selector_, tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (const tensor::Statistics *statistics = sample.GetStatistics()) {
      if (statistics->count > 0) ObserveElements(sample, *statistics);
    } else {
      ObserveReductions(sample);
    }
  }

  void EndStep(Findings &findings) override {
    masks_.EndStep();
    for (Finding &each : broken_) findings.Add(std::move(each));
    broken_.clear();
    for (Finding &each : overflows_.EndStep(findings.Place())) findings.Add(std::move(each));
    culprits_.Report(findings);
    broken_worker_.reset();
  }

  std::string Missing() const override { return "tensors with elements"; }

 private:
  void ObserveElements(const Sample &sample, const tensor::Statistics &statistics) {
    NoteEvaluated();
    const int64_t infinities = limits_.only_nan ? 0 : statistics.inf_count;
    const int64_t bad = statistics.nan_count + infinities;
    if (bad > 0) {
      OfferBroken(sample, statistics.nan_count, static_cast<double>(bad), [&] {
        const int64_t nan = statistics.nan_count;
        return StrCat(nan > 0 ? nan : infinities, " of the ", statistics.count, " elements of '",
                      sample.Tensor(), nan > 0 ? "' are not a number" : "' are infinite",
                      nan > 0 && infinities > 0 ? StrCat(", ", infinities, " are infinite") : "");
      });
      return;
    }
    ObserveSize(sample, statistics.absolute.max);
    if (limits_.growth && tensor::IsFloat(sample.Form()->dtype)) {
      ObserveGrowth(sample, statistics);
    }
  }

  // Reductions show only whether such elements exist, not how many.
  void ObserveReductions(const Sample &sample) {
    using tensor::ReductionKind;
    if (ObserveExtremes(sample)) return;
    const auto all = {ReductionKind::kMin, ReductionKind::kMax, ReductionKind::kMean,
                      ReductionKind::kSum, ReductionKind::kL1,  ReductionKind::kL2,
                      ReductionKind::kStd};
    for (const bool is_absolute : {false, true}) {
      for (const ReductionKind kind : all) {
        const std::optional<double> saved = sample.Reduce({kind, is_absolute});
        if (!saved) continue;
        NoteEvaluated();
        const bool is_extreme = kind == ReductionKind::kMin || kind == ReductionKind::kMax;
        // A sum can overflow even if no element is infinite.
        const bool is_infinite = is_extreme && std::isinf(*saved) && !limits_.only_nan;
        if (std::isnan(*saved) || is_infinite) {
          OfferBroken(sample, std::isnan(*saved) ? 1 : 0, *saved, [&] {
            return StrCat("the ", tensor::ReductionName({kind, is_absolute}), " of '",
                          sample.Tensor(), "' is ", Shortest(*saved));
          });
          return;
        }
        if (is_extreme && std::isfinite(*saved)) ObserveSize(sample, std::fabs(*saved));
      }
    }
  }

  // Returns false if that is not enough: something is not finite, or no extreme was saved.
  bool ObserveExtremes(const Sample &sample) {
    using tensor::ReductionKind;
    if (!sample.HasOnlyFiniteReductions()) return false;
    std::optional<double> size;
    for (const bool is_absolute : {false, true}) {
      for (const ReductionKind kind : {ReductionKind::kMin, ReductionKind::kMax}) {
        const std::optional<double> saved = sample.Reduce({kind, is_absolute});
        if (saved) size = std::max(size.value_or(0), std::fabs(*saved));
      }
    }
    if (!size) return false;
    NoteEvaluated();
    ObserveSize(sample, *size);
    return true;
  }

  // Reports the first broken tensor in record order: the other tensors got the value from it.
  template <class Say>
  void OfferBroken(const Sample &sample, int64_t nans, double value, Say say) {
    if (broken_worker_ == sample.Worker()) return;
    Finding finding;
    finding.worker = sample.Worker();
    finding.tensor = sample.Tensor();
    finding.check = nans > 0 ? "nan" : "inf";
    finding.value = value;
    finding.limit = 0;
    finding.message = say();
    std::optional<Finding> known = std::move(finding);
    // Growth knows what was finite; without it, every infinity is one too many.
    if (limits_.growth) {
      const bool is_first = grown_.Of(sample).norms.IsEmpty();
      known = masks_.Note(sample, is_first, *std::move(known));
    }
    if (known) known = overflows_.Note(sample, *std::move(known));
    if (!known) return;
    broken_worker_ = sample.Worker();
    broken_.push_back(*std::move(known));
  }

  void ObserveSize(const Sample &sample, double size) {
    if (!limits_.max_abs || !(size > *limits_.max_abs)) return;
    culprits_.Offer(sample, {size, size, *limits_.max_abs, "large"}, [&] {
      return StrCat("'", sample.Tensor(), "' holds an element as large as ", Shortest(size),
                    ", above the limit of ", Shortest(*limits_.max_abs));
    });
  }

  // Squares of gradients, which an optimizer keeps, grow by the square of a gradient's factor.
  double LimitOf(const Sample &sample, const tensor::Statistics &statistics) const {
    const bool may_be_squares =
        sample.Tensor().starts_with(kOptimizerState) && statistics.plain.min >= 0;
    return may_be_squares ? *limits_.growth * *limits_.growth : *limits_.growth;
  }

  void ObserveGrowth(const Sample &sample, const tensor::Statistics &statistics) {
    if (!std::isfinite(statistics.l2)) return;
    // Per element: what a model returns may be a loss in training, and scores in evaluation.
    const double root = std::sqrt(static_cast<double>(statistics.count));
    const double norm = statistics.l2 / root;
    const double limit = LimitOf(sample, statistics);
    Grown &grown = grown_.Of(sample);
    Norms &norms = grown.norms;
    const bool is_evaluated =
        norms.IsEnough() && statistics.absolute.max > limits_.growth_floor && norms.IsRecord(norm);
    const std::optional<double> usual =
        is_evaluated ? norms.MedianBelow(norm, limit) : std::nullopt;
    norms.Add(norm);
    grown.steps = usual ? grown.steps + 1 : 0;
    const bool is_gradient = WeightOfGradient(sample.Tensor()) != sample.Tensor();
    if (!usual || (is_gradient && grown.steps < kLeastStepsOfGradient)) return;
    const double factor = norm / *usual;
    culprits_.Offer(sample, {factor, factor, limit, "growth"}, [&] {
      return StrCat("the norm of '", sample.Tensor(), "' is ", Shortest(statistics.l2), ", ",
                    Shortest(factor), " times its usual ", Shortest(root * *usual));
    });
  }

  const Selector selector_;  // empty: selects every tensor
  const Limits limits_;
  SampleStates<Grown> grown_;
  Culprits culprits_;
  Masks masks_;
  Overflows overflows_;
  std::vector<Finding> broken_;  // of this step
  // The worker whose first broken tensor of this step is known.
  std::optional<std::string> broken_worker_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "", "", kCollectionNamesMeaning},
    {"tensor_regex", "", "",
     "expressions found in the names of further tensors to check, separated by commas; without "
     "both parameters, checks every tensor"},
    {"only_nan", "False", "False", "true ignores infinite elements"},
    {"max_abs", "", "", "maximum absolute value of an element"},
    {"growth", "", "100",
     "maximum ratio of a tensor's norm to its running median; of squares in an optimizer's state, "
     "the root of the ratio"},
    {"growth_floor", "1", "1", "tensors may grow while all absolute values are smaller than this"},
    kLossScaling,
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.only_nan, parameters.Switch("only_nan"));
  SMD_ASSIGN_OR_RETURN(limits.max_abs, parameters.OptionalNumber("max_abs"));
  SMD_ASSIGN_OR_RETURN(limits.growth, parameters.OptionalNumber("growth"));
  SMD_ASSIGN_OR_RETURN(limits.growth_floor, parameters.Number("growth_floor", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.loss_scaling, parameters.Switch("loss_scaling"));
  if (limits.max_abs && *limits.max_abs < 0) return parameters.Refuse("max_abs is negative");
  if (limits.growth && !(*limits.growth > 1)) {
    return parameters.Refuse("growth must be above 1, or None");
  }
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters));
  return std::unique_ptr<Rule>(std::make_unique<ExplodingTensor>(std::move(selector), limits));
}

}  // namespace

const RuleSpec kExplodingTensor = {
    "ExplodingTensor", "a tensor has elements that are NaN or infinite", kParameters, Make};

}  // namespace smdebug::rules
