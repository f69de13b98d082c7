#include "predictions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "elements.h"
#include "limits.h"
#include "sampling.h"

namespace smdebug::cli::report {
namespace {

constexpr const char *kLabels = "labels";
constexpr const char *kPredictions = "predictions";
constexpr std::array kCollections = {kLabels, kPredictions};

// Numbers in rows, one row per sample.  Of texts, there is none.
struct Matrix {
  std::vector<double> elements;
  size_t columns = 1;

  size_t Rows() const { return elements.size() / columns; }
};

Matrix ReadMatrix(const Tensor &tensor, int64_t step) {
  const Value value = tensor.Value(step);
  const ElementReader reader(value);
  Matrix matrix;
  if (reader.AreTexts()) return matrix;
  for (size_t i = 0; i < reader.Size(); ++i) {
    matrix.elements.push_back(static_cast<double>(reader.Number(i)));
  }
  const std::vector<int64_t> shape = value.Shape();
  const bool has_columns = shape.size() == 2 && shape[0] > 0 && shape[1] > 0;
  if (has_columns) matrix.columns = static_cast<size_t>(shape[1]);
  return matrix;
}

// Returns the saved tensor of a collection, or NULL.
const RecordedTensor *TensorOf(const Inventory &inventory, const std::string &collection) {
  const RecordedTensor *found = inventory.Find(collection);
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (found == nullptr && recorded.IsIn(collection)) found = &recorded;
  }
  return found != nullptr && found->has_values ? found : nullptr;
}

bool AreFinite(const std::vector<double> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

// Returns the classes in the numbers; empty if the numbers are not classes.
std::set<double> ClassesOf(const std::vector<double> &numbers) {
  std::set<double> classes;
  for (const double number : numbers) {
    if (number < 0 || number != std::floor(number)) return {};
    classes.insert(number);
    if (classes.size() > kMostClasses) return {};
  }
  return classes;
}

ConfusionMatrix Confuse(const std::vector<double> &labels, const std::vector<double> &predicted) {
  std::set<double> classes(labels.begin(), labels.end());
  classes.insert(predicted.begin(), predicted.end());
  ConfusionMatrix matrix{{classes.begin(), classes.end()}, {}};
  const size_t count = matrix.classes.size();
  matrix.counts.assign(count, std::vector<size_t>(count));
  const auto place = [&](double of) {
    return static_cast<size_t>(std::distance(classes.begin(), classes.find(of)));
  };
  for (size_t i = 0; i < labels.size(); ++i) ++matrix.counts[place(labels[i])][place(predicted[i])];
  return matrix;
}

RocCurve MakeRoc(const std::vector<double> &labels, const std::vector<double> &scores,
                 double positive) {
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  const auto all = static_cast<double>(labels.size());
  const auto positives = static_cast<double>(std::count(labels.begin(), labels.end(), positive));
  RocCurve curve{positive, 0, {}, {}};
  std::vector<double> x = {0};
  std::vector<double> y = {0};
  double hits = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    hits += labels[order[i]] == positive ? 1 : 0;
    // Equal scores share one point of the curve.
    if (i + 1 < order.size() && scores[order[i]] == scores[order[i + 1]]) continue;
    x.push_back((static_cast<double>(i + 1) - hits) / (all - positives));
    y.push_back(hits / positives);
    curve.area += (x.back() - x[x.size() - 2]) * (y.back() + y[y.size() - 2]) / 2;
  }
  for (const size_t place : EvenPlaces(x.size(), kMostRocPoints)) {
    curve.false_positives.emplace_back(x[place]);
    curve.true_positives.emplace_back(y[place]);
  }
  return curve;
}

Residuals MakeResiduals(const std::vector<double> &labels, const std::vector<double> &predicted) {
  Residuals residuals{};
  const auto count = static_cast<double>(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    const double error = predicted[i] - labels[i];
    residuals.root_mean_square += error * error / count;
    residuals.mean_absolute += std::abs(error) / count;
    residuals.bias += error / count;
  }
  residuals.root_mean_square = std::sqrt(residuals.root_mean_square);
  for (const size_t place : EvenPlaces(labels.size(), kMostResiduals)) {
    residuals.labels.emplace_back(labels[place]);
    residuals.predictions.emplace_back(predicted[place]);
  }
  return residuals;
}

// Returns the scores of one class, which are a column.
std::vector<double> ColumnOf(const Matrix &matrix, size_t column) {
  std::vector<double> scores;
  for (size_t row = 0; row < matrix.Rows(); ++row) {
    scores.push_back(matrix.elements[row * matrix.columns + column]);
  }
  return scores;
}

std::vector<double> BestColumns(const Matrix &matrix) {
  std::vector<double> best;
  for (size_t row = 0; row < matrix.Rows(); ++row) {
    const auto begin = matrix.elements.begin() + static_cast<std::ptrdiff_t>(row * matrix.columns);
    const auto end = begin + static_cast<std::ptrdiff_t>(matrix.columns);
    best.push_back(static_cast<double>(std::max_element(begin, end) - begin));
  }
  return best;
}

void CompareScoresOfClasses(const std::vector<double> &labels, const Matrix &scores,
                            const std::set<double> &classes, PredictionReport *report) {
  report->confusion = Confuse(labels, BestColumns(scores));
  for (const double positive : classes) {
    const auto column = static_cast<size_t>(positive);
    const bool is_told_apart = column < scores.columns && classes.size() > 1;
    if (is_told_apart) report->roc.push_back(MakeRoc(labels, ColumnOf(scores, column), positive));
  }
}

// Evaluates one score per sample: the probability of the second class, or its log-odds.
void CompareScores(const std::vector<double> &labels, const std::vector<double> &scores,
                   PredictionReport *report) {
  const bool are_probabilities =
      std::all_of(scores.begin(), scores.end(), [](double x) { return x >= 0 && x <= 1; });
  const double threshold = are_probabilities ? 0.5 : 0;
  std::vector<double> predicted;
  predicted.reserve(scores.size());
  for (const double score : scores) predicted.push_back(score > threshold ? 1 : 0);
  report->confusion = Confuse(labels, predicted);
  if (std::set<double>(labels.begin(), labels.end()).size() == 2) {
    report->roc.push_back(MakeRoc(labels, scores, 1));
  }
}

void Compare(const std::vector<double> &labels, const Matrix &predictions,
             PredictionReport *report) {
  const std::set<double> classes = ClassesOf(labels);
  const bool are_binary = !classes.empty() && *classes.rbegin() <= 1;
  if (predictions.columns > 1) {
    if (!classes.empty()) CompareScoresOfClasses(labels, predictions, classes, report);
  } else if (!classes.empty() && !ClassesOf(predictions.elements).empty()) {
    report->confusion = Confuse(labels, predictions.elements);
  } else if (are_binary) {
    CompareScores(labels, predictions.elements, report);
  } else {
    report->residuals = MakeResiduals(labels, predictions.elements);
  }
}

}  // namespace

bool IsOfPredictions(const std::string &tensor, const std::vector<std::string> &collections) {
  return std::any_of(kCollections.begin(), kCollections.end(), [&](const char *each) {
    return tensor == each ||
           std::find(collections.begin(), collections.end(), each) != collections.end();
  });
}

std::optional<PredictionReport> ReadPredictions(const Inventory &inventory) {
  const RecordedTensor *const labels = TensorOf(inventory, kLabels);
  const RecordedTensor *const predictions = TensorOf(inventory, kPredictions);
  if (labels == nullptr || predictions == nullptr) return std::nullopt;
  std::vector<int64_t> steps;
  std::set_intersection(labels->steps.begin(), labels->steps.end(), predictions->steps.begin(),
                        predictions->steps.end(), std::back_inserter(steps));
  if (steps.empty()) return std::nullopt;

  const Matrix wanted = ReadMatrix(labels->tensor, steps.back());
  const Matrix found = ReadMatrix(predictions->tensor, steps.back());
  const bool fit = wanted.columns == 1 && wanted.Rows() == found.Rows() && wanted.Rows() > 0;
  if (!fit || !AreFinite(wanted.elements) || !AreFinite(found.elements)) return std::nullopt;
  PredictionReport report{steps.back(), wanted.Rows(), std::nullopt, {}, std::nullopt};
  Compare(wanted.elements, found, &report);
  return report;
}

void ToJson(const PredictionReport &report, JsonWriter *json) {
  json->BeginObject().Key("step").Whole(report.step);
  json->Key("count").Whole(static_cast<int64_t>(report.count));
  if (report.confusion) {
    const std::vector<double> &classes = report.confusion->classes;
    json->Key("confusion").BeginObject();
    AddNumbers({classes.begin(), classes.end()}, &json->Key("classes"));
    json->Key("counts").BeginArray();
    for (const auto &row : report.confusion->counts) AddCounts(row, json);
    json->EndArray().EndObject();
  }
  json->Key("roc").BeginArray();
  for (const RocCurve &curve : report.roc) {
    AddNumber(curve.positive, &json->BeginObject().Key("class"));
    AddNumber(curve.area, &json->Key("area"));
    AddNumbers(curve.false_positives, &json->Key("x"));
    AddNumbers(curve.true_positives, &json->Key("y"));
    json->EndObject();
  }
  json->EndArray();
  if (report.residuals) {
    const Residuals &residuals = *report.residuals;
    AddNumber(residuals.root_mean_square, &json->Key("residuals").BeginObject().Key("rms"));
    AddNumber(residuals.mean_absolute, &json->Key("mean_absolute"));
    AddNumber(residuals.bias, &json->Key("bias"));
    AddNumbers(residuals.labels, &json->Key("labels"));
    AddNumbers(residuals.predictions, &json->Key("predictions"));
    json->EndObject();
  }
  json->EndObject();
}

}  // namespace smdebug::cli::report
