// Finds rare classes, classes that the model misses, and samples that come sorted by their class.
#include <algorithm>
#include <map>
#include <optional>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/classified.h"
#include "rules/support/falling.h"
#include "rules/support/label_order.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// Labels with more distinct values than this are not classes.
constexpr size_t kMostClasses = 10'000;
// Where most labels agree anyway, their order says little.
constexpr double kMostAlike = 0.7;
// Up to so many times the limit, a model that still improves may learn rare classes by itself.
constexpr double kMild = 2;
// Classes that are this part of a batch when they are first seen have joined the training.
constexpr double kJoining = 0.2;
// A model with this part of the errors of one that always says the most frequent class.
constexpr double kGuess = 0.98;

struct Limits {
  double imbalance;
  double misprediction;
  int64_t samples;
  int64_t samples_of_class;
  std::optional<int64_t> num_classes;
  std::optional<double> max_error;
  std::optional<int64_t> most_classes;  // more are tokens or the like, of unequal frequency
  std::optional<double> sorted;
  int64_t patience;
  int64_t first_steps;
  int64_t steps;
  std::optional<double> rare_error;
};

// Counts how often a class was the label and how often it was mispredicted.
struct Class {
  int64_t labels = 0;     // since the start, or since other classes joined
  int64_t predicted = 0;  // labels with a prediction, since the last evaluation
  int64_t mispredicted = 0;
};

struct Counts {
  std::map<int64_t, Class> classes;
  int64_t labels = 0;
  int64_t recent_labels = 0;         // since the last evaluation
  std::optional<int64_t> first;      // the step of the first labels
  std::optional<int64_t> first_now;  // since the last evaluation
  int64_t mispredictions = 0;        // consecutive evaluations in which the model did not improve
  Falling loss;
  LabelOrder order;
  bool has_too_many = false;
  bool are_of_parts = false;
};

class ClassImbalance final : public Rule {
 public:
  ClassImbalance(Classified classified, const Limits &limits)
      : Rule("ClassImbalance"), classified_(std::move(classified)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return classified_.RoleOf(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override { classified_.Add(sample); }

  void EndStep(Findings &findings) override {
    for (const Classified::Pair &pair : classified_.Take()) {
      Counts &counts = counts_.Of(StrCat(ModeName(findings.Place().mode), " ", pair.labels.worker),
                                  pair.labels.tensor);
      const int64_t step = findings.Place().mode_step;
      const bool is_training = limits_.sorted && IsTraining(findings.Place().mode);
      if (is_training && counts.labels > 0 && HasJoining(pair.labels.classes, counts)) {
        BeginAnew(step, &counts);
      }
      Count(pair, step, &counts);
      if (counts.has_too_many) continue;
      if (is_training) {
        counts.order.Add(pair.labels.classes);
        EvaluateOrder(pair, counts, findings);
      }
      if (counts.recent_labels < limits_.samples || step - *counts.first_now < limits_.steps - 1) {
        continue;
      }
      if (limits_.most_classes && std::ssize(counts.classes) > *limits_.most_classes) continue;
      if (counts.labels < limits_.samples_of_class * static_cast<int64_t>(counts.classes.size())) {
        continue;
      }
      NoteEvaluated();
      if (step - *counts.first >= limits_.first_steps - 1) {
        EvaluateImbalance(pair, counts, findings);
      }
      EvaluateMisprediction(pair, counts, findings);
      Forget(&counts);
    }
  }

  std::string Missing() const override {
    return StrCat(limits_.samples, " labels that are classes",
                  limits_.most_classes ? StrCat(", at most ", *limits_.most_classes) : "");
  }

 private:
  static void Count(const Classified::Pair &pair, int64_t step, Counts *counts) {
    if (!counts->first) counts->first = step;
    if (!counts->first_now) counts->first_now = step;
    counts->loss.Add(pair.loss);
    counts->are_of_parts |= pair.labels.are_of_parts;
    const std::vector<int64_t> &labels = pair.labels.classes;
    const std::vector<int64_t> &predictions = pair.predictions.classes;
    for (size_t i = 0; i < labels.size() && !counts->has_too_many; ++i) {
      if (labels[i] < 0) continue;
      Class &entry = counts->classes[labels[i]];
      counts->has_too_many = counts->classes.size() > kMostClasses;
      ++entry.labels;
      ++counts->labels;
      ++counts->recent_labels;
      if (predictions.empty()) continue;
      ++entry.predicted;
      if (predictions[i] != labels[i]) ++entry.mispredicted;
    }
  }

  // Reports whether classes join late, as the tasks of a training do that gets one after another.
  static bool HasJoining(const std::vector<int64_t> &labels, const Counts &counts) {
    const auto joining = std::count_if(labels.begin(), labels.end(), [&](int64_t label) {
      return label >= 0 && counts.classes.count(label) == 0;
    });
    return static_cast<double>(joining) > kJoining * static_cast<double>(labels.size());
  }

  static void BeginAnew(int64_t step, Counts *counts) {
    counts->labels = 0;
    counts->first = step;
    for (auto &[label, entry] : counts->classes) entry.labels = 0;
  }

  static void Forget(Counts *counts) {
    counts->recent_labels = 0;
    counts->first_now.reset();
    for (auto &[label, entry] : counts->classes) {
      entry.predicted = entry.mispredicted = 0;
    }
  }

  void EvaluateOrder(const Classified::Pair &pair, Counts &counts, Findings &findings) {
    const std::optional<LabelOrder::Agreement> agreement = counts.order.Take();
    if (!agreement) return;
    NoteEvaluated();
    const auto &[within, next, shuffled] = *agreement;
    if (shuffled > kMostAlike || !agreement->IsSorted(*limits_.sorted)) return;
    findings.Add(FindingOf(
        {pair.labels.worker, pair.labels.tensor}, "sorted", agreement->Excess(), *limits_.sorted,
        StrCat("two labels of a batch of '", pair.labels.tensor, "' agree in ",
               Shortest(100 * within), " % of all cases, and with the next batch in ",
               Shortest(100 * next), " %, which should be ", Shortest(100 * shuffled),
               " %: samples come sorted by their class")));
  }

  // So far, sorted samples were mostly of the first classes.
  bool IsSorted(const Counts &counts) const {
    const std::optional<LabelOrder::Agreement> agreement = counts.order.SinceStart();
    return limits_.sorted && agreement && agreement->IsSorted(*limits_.sorted);
  }

  using Entry = std::map<int64_t, Class>::const_iterator;
  // The rarest and the most frequent class.
  struct Spread {
    Entry fewest;
    Entry most;
    bool has_unseen;  // the rarest one is another, without labels
    double ratio;
  };
  Spread SpreadOf(const Counts &counts) const {
    const auto by_labels = [](const auto &a, const auto &b) {
      return a.second.labels < b.second.labels;
    };
    const auto [fewest, most] =
        std::minmax_element(counts.classes.begin(), counts.classes.end(), by_labels);
    const bool has_unseen =
        limits_.num_classes && static_cast<int64_t>(counts.classes.size()) < *limits_.num_classes;
    const double least = has_unseen ? 0 : static_cast<double>(fewest->second.labels);
    return {fewest, most, has_unseen, static_cast<double>(most->second.labels) / least};
  }

  // A rare class does no harm if the model tells it from others, or may still learn to.
  bool IsHarmless(const Class &rare, double ratio, const Counts &counts) const {
    if (!limits_.rare_error || rare.predicted == 0) return false;
    const auto predicted = static_cast<double>(rare.predicted);
    return static_cast<double>(rare.mispredicted) <= *limits_.rare_error * predicted ||
           (ratio < kMild * limits_.imbalance && counts.loss.Falls());
  }

  static std::string TimesOf(const std::pair<const int64_t, Class> &rarest) {
    const auto &[label, entry] = rarest;
    if (entry.labels == 0) return StrCat("class ", label, " never, since others joined");
    return StrCat("class ", label, " ", entry.labels, " times");
  }

  void EvaluateImbalance(const Classified::Pair &pair, const Counts &counts,
                         Findings &findings) const {
    const auto [fewest, most, has_unseen, ratio] = SpreadOf(counts);
    if (!(ratio > limits_.imbalance) || IsSorted(counts)) return;
    Finding finding;
    finding.worker = pair.labels.worker;
    finding.tensor = pair.labels.tensor;
    finding.check = "imbalance";
    // Of tokens and pixels most are of one class, and training weights may be for that.
    const bool is_usual = limits_.most_classes && counts.are_of_parts;
    if (pair.labels.are_weighted || is_usual ||
        (!has_unseen && IsHarmless(fewest->second, ratio, counts))) {
      finding.level = Level::kWorthALook;
    }
    finding.value = ratio;
    finding.limit = limits_.imbalance;
    finding.message = StrCat(
        "the labels '", pair.labels.tensor, "' hold class ", most->first, " ", most->second.labels,
        " times and ", has_unseen ? std::string("another class never") : TimesOf(*fewest),
        ": a ratio of ", Shortest(ratio), ", above the limit of ", Shortest(limits_.imbalance));
    findings.Add(std::move(finding));
  }

  void EvaluateMisprediction(const Classified::Pair &pair, Counts &counts,
                             Findings &findings) const {
    int64_t predicted = 0;
    int64_t mispredicted = 0;
    int64_t usual = 0;  // of the most frequent class
    int64_t worst = -1;
    double most = -1;
    for (const auto &[label, entry] : counts.classes) {
      predicted += entry.predicted;
      mispredicted += entry.mispredicted;
      usual = std::max(usual, entry.predicted);
      if (entry.predicted < std::max<int64_t>(limits_.samples_of_class, 1)) continue;
      const double error =
          static_cast<double>(entry.mispredicted) / static_cast<double>(entry.predicted);
      if (error > most) {
        most = error;
        worst = label;
      }
    }
    const double of_all = static_cast<double>(mispredicted) / static_cast<double>(predicted);
    const bool has_learned = !limits_.max_error || of_all <= *limits_.max_error;
    const bool is_found = most > limits_.misprediction && has_learned;
    // A model that still improves may learn one class after another.
    const bool goes_on = counts.mispredictions > 0 && !counts.loss.Falls();
    counts.mispredictions = !is_found ? 0 : goes_on ? counts.mispredictions + 1 : 1;
    if (!is_found || counts.mispredictions < limits_.patience) return;
    Finding finding;
    finding.worker = pair.predictions.worker;
    finding.tensor = pair.predictions.tensor;
    finding.check = "misprediction";
    // A model that always says the most frequent of similar classes has not begun to tell them
    // apart.
    const bool is_guess =
        static_cast<double>(mispredicted) > kGuess * static_cast<double>(predicted - usual) &&
        !(SpreadOf(counts).ratio > limits_.imbalance);
    if (limits_.max_error && is_guess) finding.level = Level::kWorthALook;
    finding.value = most;
    finding.limit = limits_.misprediction;
    finding.message =
        StrCat("the predictions '", pair.predictions.tensor, "' take ", Shortest(100 * most),
               " % of class ", worst, " for another, above the limit of ",
               Shortest(100 * limits_.misprediction), " %");
    findings.Add(std::move(finding));
  }

  mutable Classified classified_;
  const Limits limits_;
  TensorStates<Counts> counts_;  // by mode and worker
};

constexpr ParameterSpec kParameters[] = {
    {"threshold_imbalance", "10", "10", "maximum ratio of the most frequent class to the rarest"},
    {"threshold_misprediction", "0.7", "0.9",
     "maximum fraction of a class that may be predicted as another"},
    {"samples", "500", "500", "number of labels to count before an evaluation"},
    {"argmax", "False", "False",
     "true treats predictions as scores, one per class, and takes the largest"},
    {"labels_regex", R"(.*labels|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_1$)",
     R"(.*labels|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_1$)",
     "expression found in the names of labels"},
    {"predictions_regex", R"(.*predictions|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_0$)",
     R"(.*predictions|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_0$)",
     "expression found in the names of predictions"},
    {"num_classes", "None", "None", "number of classes; None: the classes seen so far"},
    {"samples_of_class", "0", "20", "minimum average number of labels per class"},
    {"max_error", "None", "0.5",
     "classes count as missed only while at most this fraction of all labels is mispredicted"},
    {"most_classes", "None", "20",
     "labels of more classes are not judged: tokens, which nobody expects to be equally frequent"},
    {"patience", "1", "4",
     "number of consecutive evaluations that miss a class before a finding, in which the loss does "
     "not fall"},
    {"steps", "1", "8", "minimum number of steps that an evaluation counts"},
    {"first_steps", "1", "30", "number of steps before imbalance is judged"},
    {"rare_error", "None", "0.5",
     "imbalance is only worth a look while at most this fraction of the rarest class is "
     "mispredicted"},
    {"sorted", "None", "0.5",
     "samples come sorted if labels of a batch agree by this part of what is possible beyond "
     "chance, and those of two batches by half of it"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.imbalance, parameters.Positive("threshold_imbalance"));
  SMD_ASSIGN_OR_RETURN(limits.misprediction, parameters.Number("threshold_misprediction", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.samples, parameters.Whole("samples", 1, int64_t{1} << 53));
  SMD_ASSIGN_OR_RETURN(limits.samples_of_class, parameters.Whole("samples_of_class", 0, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.num_classes, parameters.OptionalWhole("num_classes", 2));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.max_error, parameters.OptionalNumber("max_error"));
  SMD_ASSIGN_OR_RETURN(limits.most_classes, parameters.OptionalWhole("most_classes", 2));
  SMD_ASSIGN_OR_RETURN(limits.steps, parameters.Whole("steps", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.first_steps, parameters.Whole("first_steps", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.rare_error, parameters.OptionalNumber("rare_error"));
  SMD_ASSIGN_OR_RETURN(limits.sorted, parameters.OptionalNumber("sorted"));
  if (limits.sorted && !(*limits.sorted > 0 && *limits.sorted <= 1)) {
    return parameters.Refuse("sorted must be above 0 and at most 1, or None");
  }
  SMD_ASSIGN_OR_RETURN(const bool argmax, parameters.Switch("argmax"));
  SMD_ASSIGN_OR_RETURN(Selector labels, Selector::Make({}, {parameters.Text("labels_regex")}));
  SMD_ASSIGN_OR_RETURN(Selector predictions,
                       Selector::Make({}, {parameters.Text("predictions_regex")}));
  return std::unique_ptr<Rule>(std::make_unique<ClassImbalance>(
      Classified(std::move(labels), std::move(predictions), argmax), limits));
}

}  // namespace

const RuleSpec kClassImbalance = {"ClassImbalance",
                                  "some classes are much rarer than others, the model misses them, "
                                  "or samples come sorted by them",
                                  kParameters, Make};

}  // namespace smdebug::rules
