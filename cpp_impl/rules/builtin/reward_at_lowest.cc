// Finds rewards that sink to their lowest and stay there, as where a loss has the wrong sign.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/sample_states.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kRewards =
    R"((?i)(?<![a-z])(?<!log_)(rewards?|returns?)(_?mean)?(_output_\d+)?$)";

constexpr size_t kMostValues = 4096;
constexpr size_t kFirstPart = 10;  // the first tenth is compared with the last half
constexpr size_t kFewestFirst = 5;
// What counts as the lowest, and as higher: parts of the range of all values.
constexpr double kLowest = 0.1;
constexpr double kHigher = 0.05;
constexpr double kSignificance = 3;  // standard errors

// Long series are judged at each second value, at each third, and so on.
constexpr size_t kJudgedEach = 64;

// Keeps the means of neighbouring values, and of ever more of them.
class Means {
 public:
  // Returns whether the value completes a mean.
  bool Add(double value) {
    open_ += value;
    if (++count_ < of_each_) return false;
    means_.push_back(open_ / static_cast<double>(of_each_));
    open_ = 0;
    count_ = 0;
    if (means_.size() < kMostValues) return true;
    for (size_t i = 0; i < means_.size() / 2; ++i) {
      means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
    }
    means_.resize(means_.size() / 2);
    of_each_ *= 2;
    return true;
  }
  const std::vector<double> &All() const { return means_; }

 private:
  std::vector<double> means_;
  size_t of_each_ = 1;
  size_t count_ = 0;
  double open_ = 0;
};

struct MeanAndError {
  double mean;
  double error;

  MeanAndError(const double *begin, size_t size) {
    const auto count = static_cast<double>(size);
    mean = std::accumulate(begin, begin + size, 0.0) / count;
    double squares = 0;
    for (const double *at = begin; at != begin + size; ++at) squares += (*at - mean) * (*at - mean);
    error = std::sqrt(squares) / count;
  }
};

class RewardAtLowest final : public Rule {
 public:
  RewardAtLowest(Selector selector, int64_t patience)
      : Rule("RewardAtLowest"), selector_(std::move(selector)), patience_(patience) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> reward = sample.Scalar();
    if (!reward || !std::isfinite(*reward) || !IsTraining(sample.Place().mode)) return;
    Means &rewards = rewards_.Of(sample);
    const bool is_new = rewards.Add(*reward);
    const size_t count = rewards.All().size();
    if (!is_new || std::ssize(rewards.All()) < patience_) return;
    if (count % (1 + count / kJudgedEach) != 0) return;
    NoteEvaluated();
    Evaluate(sample, rewards.All());
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("rewards of ", patience_, " training steps");
  }

 private:
  void Evaluate(const Sample &sample, const std::vector<double> &all) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    const double range = *most - *least;
    const size_t half = all.size() / 2;
    const MeanAndError last(all.data() + half, all.size() - half);
    if (!(range > 0) || last.mean - *least > kLowest * range) return;
    const MeanAndError first(all.data(), std::max(all.size() / kFirstPart, kFewestFirst));
    const double fall = first.mean - last.mean;
    if (!(fall > kHigher * range && fall > kSignificance * first.error)) return;
    culprits_.Offer(sample, {fall, last.mean, first.mean}, [&] {
      return StrCat("'", sample.Tensor(), "' was ", Shortest(first.mean),
                    " at first, and has been at ", Shortest(last.mean), ", its lowest (",
                    Shortest(*least),
                    "), for half of the training: what is learned makes it worse");
    });
  }

  const Selector selector_;
  const int64_t patience_;
  SampleStates<Means> rewards_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kRewards, kRewards,
     "expressions found in the names of rewards, separated by commas"},
    {"patience", "40", "40", "number of training steps with a reward before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 10, kMostValues / 2));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({}, parameters.List("tensor_regex")));
  return std::unique_ptr<Rule>(std::make_unique<RewardAtLowest>(std::move(selector), patience));
}

}  // namespace

const RuleSpec kRewardAtLowest = {"RewardAtLowest", "a reward sinks to its lowest and stays there",
                                  kParameters, Make};

}  // namespace smdebug::rules
