// The quality of predictions: a confusion matrix and ROC curves, or residuals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"

namespace smdebug::cli::report {

// Counts how often each label was predicted as each class: [label][prediction].
struct ConfusionMatrix {
  std::vector<double> classes;
  std::vector<std::vector<size_t>> counts;
};

// Measures how well scores separate a class from the others.
struct RocCurve {
  double positive;  // the class
  double area;
  std::vector<MaybeNumber> false_positives;  // rates
  std::vector<MaybeNumber> true_positives;
};

// True numbers and their predictions.
struct Residuals {
  double root_mean_square;
  double mean_absolute;
  double bias;                      // the mean of prediction minus label
  std::vector<MaybeNumber> labels;  // a sample
  std::vector<MaybeNumber> predictions;
};

struct PredictionReport {
  int64_t step;
  size_t count;  // the number of predictions
  std::optional<ConfusionMatrix> confusion;
  std::vector<RocCurve> roc;
  std::optional<Residuals> residuals;
};

// Returns true if ReadPredictions() may read a tensor of this name or these collections.
bool IsOfPredictions(const std::string &tensor, const std::vector<std::string> &collections);

// Reads the last step that has both predictions and labels; returns nothing if there is none. Fails
// as smdebug::Tensor::Value().
std::optional<PredictionReport> ReadPredictions(const Inventory &inventory);

void ToJson(const PredictionReport &report, JsonWriter *json);

}  // namespace smdebug::cli::report
