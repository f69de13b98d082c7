// Finds layers whose outputs once differed between samples, and no longer do.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kPredictions, kLosses, kOutputs, kRoles };

// What the model returns follows the targets, which may differ little.
constexpr std::string_view kModelOutputs = R"(^(?!.*Loss)_*[A-Z]\w*_output_0$)";
constexpr std::string_view kLossInputs = R"(Loss\w*_input_\d+$)";
// A module that is called often in a step computes something else each time: many trials of a game
// begin alike.
constexpr std::string_view kModuleOutputs = R"(^(?!.*Loss).*_output_[0-3]$)";

constexpr int64_t kFewestSamples = 8;
constexpr int64_t kMostNumbers = 4096;
constexpr int64_t kLongestOutput = 4096;  // of one sample
constexpr int64_t kMostTensors = 4096;    // in a step
constexpr size_t kFirst = 8;              // measurements at the start
constexpr int64_t kSpacing = 4;           // steps between later ones
// A training that has blown up leaves layers in this state, and other rules name its cause.
constexpr double kBlownUp = 100;
// Outputs that differ by more at first, as before any normalisation, may become like others.
constexpr double kLarge = 1;

struct Limits {
  double least;
  int64_t patience;
};

// Follows how far the outputs of one layer are from their mean over the samples, as root mean
// square.
struct Spread {
  std::vector<double> at_first;
  double first = 0;    // the median of these
  double largest = 0;  // of all
  int64_t steps = 0;
  int64_t low_steps = 0;  // consecutive measurements
};

class CollapsedOutput final : public Rule {
 public:
  CollapsedOutput(Roles roles, const Limits &limits)
      : Rule("CollapsedOutput"), roles_(std::move(roles)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *const form = sample.Form();
    if (!IsTraining(sample.Place().mode) || form == nullptr) return;
    if (sample.Role() != kOutputs) {
      if (std::ssize(of_losses_) < kMostTensors) of_losses_.insert(form->ElementCount());
      return;
    }
    const bool is_row_each = tensor::IsFloat(form->dtype) && form->shape.size() == 2 &&
                             form->shape[0] >= kFewestSamples && form->shape[1] <= kLongestOutput;
    if (!is_row_each) return;
    Spread &spread = spreads_.Of(sample);
    const bool is_due = spread.at_first.size() < kFirst || spread.steps % kSpacing == 0;
    ++spread.steps;
    if (is_due) Measure(sample, &spread);
  }

  void EndStep(Findings &findings) override {
    for (auto &[finding, elements] : std::exchange(collapsed_, {})) {
      if (!of_losses_.contains(elements)) findings.Add(std::move(finding));
    }
    of_losses_.clear();
  }

  std::string Missing() const override {
    return StrCat("outputs of layers for ", kFewestSamples, " samples, one row each");
  }

 private:
  void Measure(const Sample &sample, Spread *spread) {
    const double now = SpreadOf(sample);
    if (!std::isfinite(now)) return;
    spread->largest = std::max(spread->largest, now);
    if (spread->at_first.size() < kFirst) {
      spread->at_first.push_back(now);
      if (spread->at_first.size() == kFirst) {
        std::vector<double> sorted = spread->at_first;
        std::nth_element(sorted.begin(), sorted.begin() + kFirst / 2, sorted.end());
        spread->first = sorted[kFirst / 2];
      }
      return;
    }
    NoteEvaluated();
    // Units without any output are dead.
    const bool is_low = now > 0 && now < limits_.least * std::min(spread->first, kLarge);
    spread->low_steps = is_low ? spread->low_steps + 1 : 0;
    if (spread->low_steps < limits_.patience || spread->largest > kBlownUp * spread->first) return;
    if (std::ssize(collapsed_) < kMostTensors) Note(sample, *spread, now);
  }

  void Note(const Sample &sample, const Spread &spread, double now) {
    const double ratio = now / spread.first;
    Finding finding = FindingOf(
        {std::string(sample.Worker()), std::string(sample.Tensor())}, "", ratio, limits_.least,
        StrCat("the outputs '", sample.Tensor(), "' of different samples differ by ", Shortest(now),
               ", which is ", Shortest(100 * ratio), " % of what it was at first (",
               Shortest(spread.first), "): the layer no longer tells samples apart"));
    collapsed_.emplace_back(std::move(finding), sample.Form()->ElementCount());
  }

  // Returns NaN if the elements are not known.
  static double SpreadOf(const Sample &sample) {
    const std::vector<double> numbers = RowsOf(sample);
    const auto columns = static_cast<size_t>(sample.Form()->shape[1]);
    if (numbers.empty() || columns == 0 || numbers.size() % columns != 0) return NAN;
    const auto rows = static_cast<double>(numbers.size() / columns);
    if (rows < 2) return NAN;
    std::vector<double> means(columns);
    for (size_t row = 0; row < numbers.size(); row += columns) {
      for (size_t i = 0; i < columns; ++i) means[i] += numbers[row + i] / rows;
    }
    double sum = 0;
    for (size_t row = 0; row < numbers.size(); row += columns) {
      for (size_t i = 0; i < columns; ++i) {
        const double from_mean = numbers[row + i] - means[i];
        sum += from_mean * from_mean;
      }
    }
    return std::sqrt(sum / static_cast<double>(numbers.size()));
  }

  // Returns the first rows.  Samples come in any order.
  static std::vector<double> RowsOf(const Sample &sample) {
    const tensor::View *const elements = sample.RealElements();
    const tensor::View &form = *sample.Form();
    if (elements == nullptr) {
      // A part of a row says nothing.
      std::vector<double> numbers = sample.SomeNumbers(kMostNumbers);
      if (std::ssize(numbers) != form.ElementCount()) numbers.clear();
      return numbers;
    }
    const int64_t rows = std::clamp(kMostNumbers / std::max<int64_t>(form.shape[1], 1),
                                    kFewestSamples, form.shape[0]);
    const int64_t shape[] = {rows, form.shape[1]};
    Sample of_rows(sample.Place(), sample.Worker(), sample.Tensor());
    of_rows.SetElements({elements->data, shape, elements->strides, elements->dtype});
    return of_rows.Numbers();
  }

  const Roles roles_;
  const Limits limits_;
  SampleStates<Spread> spreads_;
  // Of this step:
  std::set<int64_t> of_losses_;  // the numbers of elements of what losses take
  std::vector<std::pair<Finding, int64_t>> collapsed_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kModuleOutputs, kModuleOutputs,
     "expressions found in the names of outputs of layers, separated by commas; those as large as "
     "an input of a loss, or as the model's output, are left out"},
    {"least", "0.1", "0.1",
     "minimum difference between the outputs of two samples, relative to that of the first steps"},
    {"patience", "8", "8",
     "number of consecutive measurements before a finding; later ones are 4 steps apart"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.least, parameters.Number("least", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kPredictions], Selector::Make({}, {std::string(kModelOutputs)}));
  SMD_ASSIGN_OR_RETURN(selectors[kLosses], Selector::Make({}, {std::string(kLossInputs)}));
  SMD_ASSIGN_OR_RETURN(selectors[kOutputs], Selector::Make({}, parameters.List("tensor_regex")));
  return std::unique_ptr<Rule>(
      std::make_unique<CollapsedOutput>(Roles(std::move(selectors)), limits));
}

}  // namespace

const RuleSpec kCollapsedOutput = {"CollapsedOutput",
                                   "the outputs of a layer no longer differ between samples",
                                   kParameters, Make};

}  // namespace smdebug::rules
