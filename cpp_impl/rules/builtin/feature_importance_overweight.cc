// Finds a few features that nearly decide the result alone.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/selector.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// Returns "feature_importance/weight" for "feature_importance/weight/f0".  Returns any other name
// whole.
std::string_view KindOf(std::string_view tensor) {
  constexpr std::string_view kFolder = "feature_importance/";
  const size_t folder = tensor.find(kFolder);
  if (folder == std::string_view::npos) return tensor;
  return tensor.substr(0, tensor.find('/', folder + kFolder.size()));
}

class FeatureImportanceOverweight final : public Rule {
 public:
  FeatureImportanceOverweight(Selector selector, double threshold, int64_t features,
                              int64_t min_features)
      : Rule("FeatureImportanceOverweight"),
        selector_(std::move(selector)),
        threshold_(threshold),
        features_(static_cast<size_t>(features)),
        min_features_(static_cast<size_t>(min_features)) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    auto &weights = weights_[{std::string(sample.Worker()), std::string(KindOf(sample.Tensor()))}];
    for (const double weight : sample.Numbers()) {
      weights.emplace_back(weight, std::string(sample.Tensor()));
    }
  }

  void EndStep(Findings &findings) override {
    for (auto &[of, weights] : weights_) Evaluate(of.first, &weights, findings);
    weights_.clear();
  }

  std::string Missing() const override { return StrCat("at least ", min_features_, " features"); }

 private:
  using Weights = std::vector<std::pair<double, std::string>>;  // with the tensor's feature

  void Evaluate(const std::string &worker, Weights *weights, Findings &findings) {
    if (weights->size() < min_features_) return;
    std::stable_sort(weights->begin(), weights->end(),
                     [](const auto &a, const auto &b) { return a.first > b.first; });
    const auto sum = [](double total, const auto &each) { return total + each.first; };
    const auto first = weights->begin();
    const double top = std::accumulate(first, first + static_cast<int64_t>(features_), 0.0, sum);
    const double all = std::accumulate(first, weights->end(), 0.0, sum);
    if (!(all > 0)) return;
    NoteEvaluated();
    if (!(top / all > threshold_)) return;
    Finding finding;
    finding.worker = worker;
    finding.tensor = first->second;
    finding.value = top / all;
    finding.limit = threshold_;
    finding.message =
        StrCat("the ", features_, " heaviest of ", weights->size(), " features, first '",
               first->second, "', have ", Shortest(100 * top / all),
               " % of the importance, above the limit of ", Shortest(100 * threshold_), " %");
    findings.Add(std::move(finding));
  }

  const Selector selector_;
  const double threshold_;
  const size_t features_;
  const size_t min_features_;
  std::map<std::pair<std::string, std::string>, Weights> weights_;  // by worker and kind
};

constexpr ParameterSpec kParameters[] = {
    {"threshold", "0.8", "0.8", "maximum fraction of all importance for the heaviest features"},
    {"nfeatures", "3", "3", "number of heaviest features to check"},
    {"tensor_regex", ".*feature_importance/weight", ".*feature_importance/weight",
     "expression found in the names of features' importances"},
    {"min_features", "None", "8", "minimum number of features; None: one more than nfeatures"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 1));
  SMD_ASSIGN_OR_RETURN(const int64_t features, parameters.Whole("nfeatures", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> given,
                       parameters.OptionalWhole("min_features", 1));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({}, parameters.List("tensor_regex")));
  if (selector.IsEmpty()) return parameters.Refuse("tensor_regex is empty");
  const int64_t min_features = std::max(features + 1, given.value_or(0));
  return std::unique_ptr<Rule>(std::make_unique<FeatureImportanceOverweight>(
      std::move(selector), threshold, features, min_features));
}

}  // namespace

const RuleSpec kFeatureImportanceOverweight = {
    "FeatureImportanceOverweight", "a few features have more of all importance than the threshold",
    kParameters, Make};

}  // namespace smdebug::rules
