#include "rules/support/classified.h"

#include <algorithm>
#include <cmath>

namespace smdebug::rules {
namespace {

enum Role : size_t { kLabels, kPredictions };

constexpr double kMostClasses = 1e6;
// With more classes, the cross entropy would take too long.
constexpr int64_t kMostScores = 1'000;

// Returns the index of the largest number in each row.
std::vector<int64_t> LargestOfRows(const std::vector<double> &numbers, int64_t row) {
  std::vector<int64_t> places;
  for (auto at = numbers.begin(); at != numbers.end(); at += row) {
    places.push_back(std::max_element(at, at + row) - at);
  }
  return places;
}

// Reports whether each row adds up to 1, as one-hot labels and probabilities do, and labels of
// several classes at once do not.
bool AreShares(const std::vector<double> &numbers, int64_t row) {
  constexpr double kRounding = 1e-3;
  for (auto at = numbers.begin(); at != numbers.end(); at += row) {
    double sum = 0;
    for (auto each = at; each != at + row; ++each) sum += std::abs(*each);
    if (std::abs(sum - 1) > kRounding) return false;
  }
  return true;
}

bool AreWhole(const std::vector<double> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) {
    return number == std::floor(number) && std::abs(number) < kMostClasses;
  });
}

// Reports whether what was predicted for the first or second class are no probabilities, but scores
// or numbers of another output.
bool AreBeyond(const std::vector<double> &predictions) {
  constexpr double kRounding = 1e-3;
  return !AreWhole(predictions) &&
         std::any_of(predictions.begin(), predictions.end(),
                     [](double number) { return number < -kRounding || number > 1 + kRounding; });
}

// Reports whether labels are counts, and what was predicted are their means: nothing says then that
// they are classes.
bool AreNumbers(const std::vector<double> &labels, const std::vector<double> &predictions) {
  const auto is_beyond = [](double number) { return number > 1; };
  return labels.size() == predictions.size() && !AreWhole(predictions) &&
         std::any_of(labels.begin(), labels.end(), is_beyond);
}

// Rounds a probability of the second of two classes to a class.
std::vector<int64_t> Rounded(const std::vector<double> &numbers) {
  std::vector<int64_t> classes;
  for (const double number : numbers) {
    const bool is_class = number > -0.5 && number < kMostClasses;
    classes.push_back(is_class ? std::llround(number) : -1);
  }
  return classes;
}

// Returns the cross entropy of the scores' softmax and a class.
double CrossEntropy(const double *scores, int64_t count, int64_t label) {
  const double most = *std::max_element(scores, scores + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(scores[i] - most);
  return std::log(sum) + most - scores[label];
}

}  // namespace

Classified::Numbers Classified::NumbersOf(const Sample &sample) {
  Numbers numbers{std::string(sample.Worker()), std::string(sample.Tensor()), sample.Numbers(), 1};
  if (sample.Elements() != nullptr && sample.Elements()->shape.size() > 1) {
    numbers.last_size = std::max<int64_t>(sample.Elements()->shape.back(), 1);
  }
  return numbers;
}

void Classified::Add(const Sample &sample) {
  (sample.Role() == kLabels ? labels_ : predictions_).push_back(NumbersOf(sample));
}

std::vector<int64_t> Classified::ClassesOf(const Numbers &labels) const {
  if (labels.last_size > 1 && AreShares(labels.numbers, labels.last_size)) {
    return LargestOfRows(labels.numbers, labels.last_size);
  }
  return AreWhole(labels.numbers) ? Rounded(labels.numbers) : std::vector<int64_t>();
}

std::vector<int64_t> Classified::ClassesOf(const Numbers &predictions, size_t count) const {
  std::vector<int64_t> classes = AreScores(predictions, count)
                                     ? LargestOfRows(predictions.numbers, predictions.last_size)
                                     : Rounded(predictions.numbers);
  if (classes.size() != count) classes.clear();
  return classes;
}

bool Classified::AreScores(const Numbers &predictions, size_t count) const {
  return predictions.last_size > 1 && (argmax_ || predictions.numbers.size() != count);
}

double Classified::LossOf(const Numbers &predictions, const Pair &pair) const {
  const std::vector<int64_t> &labels = pair.labels.classes;
  const std::vector<int64_t> &taken = pair.predictions.classes;
  const int64_t row = predictions.last_size;
  const bool has_scores = AreScores(predictions, labels.size()) && row <= kMostScores;
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (labels[i] < 0 || (has_scores && labels[i] >= row)) continue;
    const double *scores = predictions.numbers.data() + static_cast<int64_t>(i) * row;
    sum += has_scores ? CrossEntropy(scores, row, labels[i]) : (labels[i] == taken[i] ? 0 : 1);
    ++count;
  }
  return count > 0 ? sum / count : std::nan("");
}

// Parts of a sample that do not count have labels below 0.
bool Classified::AreOfParts(const Numbers &labels) const {
  const auto is_ignored = [](double number) { return number < 0; };
  return std::any_of(labels_.begin(), labels_.end(), [&](const Numbers &each) {
    const bool is_same =
        each.worker == labels.worker && each.numbers.size() == labels.numbers.size();
    const bool has_parts = each.last_size > 1 && !AreShares(each.numbers, each.last_size);
    return is_same &&
           (has_parts || std::any_of(each.numbers.begin(), each.numbers.end(), is_ignored));
  });
}

std::vector<Classified::Pair> Classified::Take() {
  std::vector<Pair> pairs;
  for (const Numbers &labels : labels_) {
    Pair pair{
        {labels.worker, labels.tensor, ClassesOf(labels), AreOfParts(labels)}, {}, std::nan("")};
    const auto predictions = std::find_if(
        predictions_.begin(), predictions_.end(),
        [&](const Numbers &each) { return each.worker == labels.worker && !each.numbers.empty(); });
    if (predictions != predictions_.end() && AreNumbers(labels.numbers, predictions->numbers)) {
      predictions->numbers.clear();
      continue;
    }
    pair.labels.are_weighted = weighted_.contains(labels.tensor);
    pair.labels.are_of_parts |= of_parts_.contains(labels.tensor);
    const bool are_other = predictions != predictions_.end() &&
                           labels.numbers.size() == predictions->numbers.size() &&
                           AreBeyond(predictions->numbers);
    if (are_other) predictions->numbers.clear();
    if (predictions != predictions_.end() && !are_other) {
      pair.predictions = {predictions->worker, predictions->tensor,
                          ClassesOf(*predictions, pair.labels.classes.size())};
      pair.loss = LossOf(*predictions, pair);
      predictions->numbers.clear();
    }
    if (!pair.labels.classes.empty()) pairs.push_back(std::move(pair));
  }
  labels_.clear();
  predictions_.clear();
  return pairs;
}

}  // namespace smdebug::rules
