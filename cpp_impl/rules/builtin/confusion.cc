// Finds classes that a model confuses with each other.
#include <algorithm>
#include <deque>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/classified.h"
#include "rules/support/falling.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// A label at or above this limit is not a class.
constexpr int64_t kMostCategories = 10'000;

struct Limits {
  std::optional<int64_t> categories;
  double min_diag;
  double max_off_diag;
  std::optional<int64_t> window;
  int64_t samples;
  std::optional<double> max_error;
  int64_t patience;
  int64_t samples_of_class;
  std::optional<int64_t> most_classes;  // more are tokens or the like
};

using Cell = std::pair<int64_t, int64_t>;  // label, prediction
using Cells = std::map<Cell, int64_t>;

// Counts how often each class was predicted as each other class.
class Matrix {
 public:
  void Add(Cells step, std::optional<int64_t> window) {
    for (const auto &[cell, count] : step) Count(cell, count);
    if (!window) return;
    steps_.push_back(std::move(step));
    if (static_cast<int64_t>(steps_.size()) <= *window) return;
    for (const auto &[cell, count] : steps_.front()) Count(cell, -count);
    steps_.pop_front();
  }

  const Cells &Get() const { return cells_; }
  int64_t Total() const { return total_; }
  int64_t Right() const { return right_; }
  int64_t At(Cell cell) const {
    const auto found = cells_.find(cell);
    return found == cells_.end() ? 0 : found->second;
  }
  // Returns how often each class was the label or the prediction.
  std::map<int64_t, int64_t> LabelCounts() const;
  std::map<int64_t, int64_t> PredictionCounts() const;

 private:
  void Count(Cell cell, int64_t count) {
    total_ += count;
    if (cell.first == cell.second) right_ += count;
    if ((cells_[cell] += count) == 0) cells_.erase(cell);
  }

  Cells cells_;
  std::deque<Cells> steps_;
  int64_t total_ = 0;
  int64_t right_ = 0;
};

std::map<int64_t, int64_t> Matrix::LabelCounts() const {
  std::map<int64_t, int64_t> counts;
  for (const auto &[cell, count] : cells_) counts[cell.first] += count;
  return counts;
}

std::map<int64_t, int64_t> Matrix::PredictionCounts() const {
  std::map<int64_t, int64_t> counts;
  for (const auto &[cell, count] : cells_) counts[cell.second] += count;
  return counts;
}

double Part(int64_t count, int64_t of) {
  return static_cast<double>(count) / static_cast<double>(of);
}

class Confusion final : public Rule {
 public:
  Confusion(Classified classified, const Limits &limits)
      : Rule("Confusion"), classified_(std::move(classified)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return classified_.RoleOf(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override { classified_.Add(sample); }

  void EndStep(Findings &findings) override {
    for (const Classified::Pair &pair : classified_.Take()) {
      Cells cells = CellsOf(pair);
      if (cells.empty()) continue;
      auto &[matrix, loss, confused_steps] = states_.Of(
          StrCat(ModeName(findings.Place().mode), " ", pair.labels.worker), pair.labels.tensor);
      loss.Add(pair.loss);
      matrix.Add(std::move(cells), limits_.window);
      if (matrix.Total() < limits_.samples) continue;
      if (limits_.most_classes && std::ssize(matrix.LabelCounts()) > *limits_.most_classes)
        continue;
      NoteEvaluated();
      const double error = 1 - Part(matrix.Right(), matrix.Total());
      Findings found(findings.Place());
      if (!limits_.max_error || error <= *limits_.max_error) {
        EvaluateDiagonal(pair, matrix, found);
        EvaluateOffDiagonal(pair, matrix, found);
      }
      // A model that still improves may learn one class after another.
      const bool goes_on = confused_steps > 0 && !loss.Falls();
      confused_steps = found.All().empty() ? 0 : goes_on ? confused_steps + 1 : 1;
      if (confused_steps < limits_.patience) continue;
      for (Finding &finding : found.All()) {
        // Such a loss would rather take many for a rare class than miss one.
        if (pair.labels.are_weighted) finding.level = Level::kWorthALook;
        findings.Add(std::move(finding));
      }
    }
  }

  std::string Missing() const override {
    return StrCat(limits_.samples, " labels that are classes, and as many predictions");
  }

 private:
  struct State {
    Matrix matrix;
    Falling loss;
    int64_t confused_steps = 0;  // consecutive steps in which the model did not improve
  };

  Cells CellsOf(const Classified::Pair &pair) const {
    const std::vector<int64_t> &labels = pair.labels.classes;
    const std::vector<int64_t> &predictions = pair.predictions.classes;
    const int64_t end = limits_.categories.value_or(kMostCategories);
    Cells cells;
    for (size_t i = 0; i < labels.size() && !predictions.empty(); ++i) {
      const Cell cell{labels[i], predictions[i]};
      if (std::min(cell.first, cell.second) >= 0 && std::max(cell.first, cell.second) < end) {
        ++cells[cell];
      }
    }
    return cells;
  }

  // Finds the class with the smallest correct fraction, either of its predictions or of its labels.
  void EvaluateDiagonal(const Classified::Pair &pair, const Matrix &matrix,
                        Findings &findings) const {
    double least = 1;
    std::string what;
    const auto see = [&](const auto &counts, std::string_view which) {
      for (const auto &[label, count] : counts) {
        const double part = Part(matrix.At({label, label}), count);
        if (part >= least || count < limits_.samples_of_class) continue;
        least = part;
        what = StrCat("of what ", which, " class ", label, " only ", Shortest(100 * part), " %");
      }
    };
    see(matrix.PredictionCounts(), "is taken for");
    see(matrix.LabelCounts(), "is");
    if (!(least < limits_.min_diag)) return;
    Add(pair, "min_diag", least, limits_.min_diag,
        StrCat(what, " is right, less than the limit of ", Shortest(100 * limits_.min_diag), " %"),
        findings);
  }

  void EvaluateOffDiagonal(const Classified::Pair &pair, const Matrix &matrix,
                           Findings &findings) const {
    const std::map<int64_t, int64_t> predictions = matrix.PredictionCounts();
    double most = 0;
    Cell worst{};
    for (const auto &[cell, count] : matrix.Get()) {
      if (cell.first == cell.second) continue;
      const int64_t of = predictions.at(cell.second);
      const double part = Part(count, of);
      if (part <= most || of < limits_.samples_of_class) continue;
      most = part;
      worst = cell;
    }
    if (!(most > limits_.max_off_diag)) return;
    Add(pair, "max_off_diag", most, limits_.max_off_diag,
        StrCat(Shortest(100 * most), " % of what is taken for class ", worst.second, " is class ",
               worst.first, ", more than the limit of ", Shortest(100 * limits_.max_off_diag),
               " %"),
        findings);
  }

  static void Add(const Classified::Pair &pair, std::string_view label, double value, double limit,
                  const std::string &what, Findings &findings) {
    Finding finding;
    finding.worker = pair.predictions.worker;
    finding.tensor = pair.predictions.tensor;
    finding.check = label;
    finding.value = value;
    finding.limit = limit;
    finding.message = StrCat("by the predictions '", pair.predictions.tensor, "', ", what);
    findings.Add(std::move(finding));
  }

  mutable Classified classified_;
  const Limits limits_;
  TensorStates<State> states_;  // by mode and worker
};

constexpr ParameterSpec kParameters[] = {
    {"category_no", "None", "None",
     "number of classes; None: the classes of labels and predictions"},
    {"labels", R"(labels|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_1$)",
     R"(labels|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_1$)",
     "expression found in the names of labels"},
    {"predictions", R"(predictions|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_0$)",
     R"(predictions|(CrossEntropy|(?<![a-z])NLL)Loss\w*_input_0$)",
     "expression found in the names of predictions"},
    {"labels_collection", "labels", "labels", "collection of the labels"},
    {"predictions_collection", "predictions", "predictions", "collection of the predictions"},
    {"min_diag", "0.9", "0.1", "minimum fraction of each class that must be right"},
    {"max_off_diag", "0.1", "0.5",
     "maximum fraction of the predictions of a class that may belong to one other class"},
    {"window", "None", "10", "number of steps whose labels are counted; None: all steps"},
    {"samples", "1", "200", "minimum number of counted labels"},
    {"max_error", "None", "0.5",
     "classes count as confused only while at most this fraction of all labels is mispredicted"},
    {"samples_of_class", "0", "20", "minimum number of labels, or predictions, of a class"},
    {"most_classes", "None", "20",
     "labels of more classes are not judged: tokens, of which nobody expects all to be told apart"},
    {"patience", "1", "50",
     "number of consecutive steps of a mode before a finding, in which the loss does not fall"},
};

Result<Selector> ReadSelector(const Parameters &parameters, std::string_view name) {
  std::vector<std::string> collections;
  const std::string collection = parameters.Text(StrCat(name, "_collection"));
  if (!collection.empty()) collections.push_back(collection);
  const std::string regex = parameters.Text(name);
  std::vector<std::string> regexes;
  if (!regex.empty()) regexes.push_back(regex);
  return Selector::Make(std::move(collections), regexes);
}

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.categories, parameters.OptionalWhole("category_no", 2));
  SMD_ASSIGN_OR_RETURN(limits.min_diag, parameters.Number("min_diag", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.max_off_diag, parameters.Number("max_off_diag", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.window, parameters.OptionalWhole("window", 1));
  SMD_ASSIGN_OR_RETURN(limits.samples, parameters.Whole("samples", 1, int64_t{1} << 53));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.samples_of_class, parameters.Whole("samples_of_class", 0, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.most_classes, parameters.OptionalWhole("most_classes", 2));
  SMD_ASSIGN_OR_RETURN(limits.max_error, parameters.OptionalNumber("max_error"));
  SMD_ASSIGN_OR_RETURN(Selector labels, ReadSelector(parameters, "labels"));
  SMD_ASSIGN_OR_RETURN(Selector predictions, ReadSelector(parameters, "predictions"));
  return std::unique_ptr<Rule>(std::make_unique<Confusion>(
      Classified(std::move(labels), std::move(predictions), false), limits));
}

}  // namespace

const RuleSpec kConfusion = {"Confusion", "the model confuses a class with others too often",
                             kParameters, Make};

}  // namespace smdebug::rules
