#include "rules/support/update_sizes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// The limits lie between what healthy trainings and trainings with faults have: see
// docs/diagnosis.md#clues.
constexpr double kLargeWeights = 2;
constexpr double kSmallWeights = 0.05;
constexpr int64_t kFirst = 5;  // updates
constexpr double kLargeFirst = 0.8;
// All weights of so few elements may begin small by chance, and the only layer of a model may begin
// anywhere.
constexpr int64_t kFewWeights = 16;
constexpr double kFartherIfFew = 5;
constexpr size_t kUsual = 30;  // updates
constexpr double kSmallUsual = 5e-5;
constexpr double kSlowUsual = 5e-4;
// Updates may be tiny until there were so many.  While a schedule warms up, they are larger than
// early ones, by this factor or more.
constexpr int64_t kTinyAfter = 60;
constexpr int64_t kEarlyFrom = 11;
constexpr int64_t kEarlyTo = 20;
constexpr double kWarmsUp = 1.5;
constexpr double kSurelyTiny = 0.1;  // of the limit
// Weights have shrunk once they were so for so many updates, and surely below this part of the
// limit.
constexpr int64_t kShrunk = 20;
constexpr double kSurelyShrunk = 0.8;
// Updates that grow: by so much each, over so many, to so many times the largest before, in a line
// that explains so much of their variance.  A schedule may warm up before.
constexpr double kGrowth = 1.08;
constexpr size_t kGrowing = 12;
constexpr double kRecord = 2;
constexpr double kLeastFit = 0.8;
constexpr int64_t kWarm = 20;

// Returns the size of a weight's elements, relative to one over the root of the number of inputs of
// an output.  Frameworks differ in which axis is that of the outputs.
double ScaleOf(const tensor::View &form, double mean_square) {
  const auto outputs = static_cast<double>(std::max(form.shape.front(), form.shape.back()));
  return std::sqrt(mean_square * static_cast<double>(form.ElementCount()) / outputs);
}

// Rows of an embedding are looked up, not multiplied.
bool IsOfEmbedding(std::string_view tensor) {
  const std::string lower = ToLower(tensor);
  return lower.find("embed") != std::string::npos || lower.find("_emb") != std::string::npos ||
         lower.find("wte") != std::string::npos;
}

std::string SaysScale(const std::string &tensor, double scale) {
  return StrCat("the weight '", tensor, "' begins ", Shortest(scale),
                " times as large as one over the root of its inputs");
}

// A line through points at 0, 1, 2 and so on.
struct Line {
  double slope;
  double fit;  // the share of the variance that it explains

  explicit Line(const std::deque<double> &values) {
    const auto count = static_cast<double>(values.size());
    double mean = 0;
    for (const double each : values) mean += each / count;
    double of_places = 0;
    double of_both = 0;
    double of_values = 0;
    double place = -(count - 1) / 2;
    for (const double each : values) {
      of_places += place * place;
      of_both += place * (each - mean);
      of_values += (each - mean) * (each - mean);
      ++place;
    }
    slope = of_both / of_places;
    fit = of_both * of_both / (of_places * of_values);
  }
};

}  // namespace

void UpdateSizes::Extreme::Take(const Sample &sample, double other) {
  subject.worker = sample.Worker();
  subject.tensor = sample.Tensor();
  value = other;
}

void UpdateSizes::AddFirst(const Sample &weight, double mean_square) {
  const tensor::View *form = weight.Form();
  if (updates_ > 0 || form == nullptr || form->shape.size() < 2) return;
  if (!(mean_square > 0) || IsOfEmbedding(weight.Tensor())) return;
  const double scale = ScaleOf(*form, mean_square);
  if (!largest_.IsKnown() || scale > largest_.value) largest_.Take(weight, scale);
  if (!smallest_.IsKnown() || scale < smallest_.value) smallest_.Take(weight, scale);
  ++first_weights_;
  if (scale < kSmallWeights) ++small_weights_;
}

void UpdateSizes::Add(const Sample &weight, double difference, double before) {
  // Frozen weights say nothing.
  if (!IsOfLayer(weight) || before == 0 || difference == 0) return;
  difference_ += difference;
  before_ += before;
  const tensor::View *form = weight.Form();
  elements_ += form == nullptr ? kFewWeights : form->ElementCount();
  const double size = difference / before;
  if (!farthest_.IsKnown() || size > farthest_.value) farthest_.Take(weight, size);
}

void UpdateSizes::EndStep(Findings &findings) {
  if (before_ != 0) EndUpdate(difference_ / before_, findings);
  difference_ = before_ = 0;
  elements_ = 0;
  farthest_ = {};
}

void UpdateSizes::EndUpdate(double size, Findings &findings) {
  if (updates_++ == 0) JudgeWeights(findings);
  // A gradient that is not a number leaves such weights, at whatever rate.
  if (updates_ <= kFirst && !std::isnan(size)) JudgeFirst(size, findings);
  if (!std::isfinite(size)) return;
  if (first_.size() < kUsual) {
    first_.push_back(size);
    if (first_.size() == kUsual) JudgeUsual(findings);
  }
  JudgeGrowth(size, findings);
  if (limits_.left) JudgeLeft(findings);
  if (updates_ >= kEarlyFrom && updates_ <= kEarlyTo) early_ += std::log(size);
  if (updates_ == kTinyAfter && limits_.tiny) JudgeTiny(findings);
}

void UpdateSizes::JudgeFirst(double size, Findings &findings) {
  const auto told = [&](std::string_view check, double limit) {
    return FindingOf(
        farthest_.subject, check, size, limit,
        StrCat("one of the first updates ",
               std::isfinite(size)
                   ? StrCat("changed all weights by ", Shortest(size), " of themselves")
                   : std::string("left weights that are not finite"),
               ", '", farthest_.subject.tensor, "' most; the limit is ", Shortest(limit)));
  };
  if (size > kLargeFirst && !std::exchange(has_clue_of_first_, true)) {
    findings.AddClue(told("large_first_updates", kLargeFirst));
  }
  if (!limits_.first || has_found_first_) return;
  const bool may_be_small = elements_ < kFewWeights || first_weights_ == 1;
  const double limit = *limits_.first * (may_be_small ? kFartherIfFew : 1);
  if (size <= limit) return;
  has_found_first_ = true;
  findings.Add(told("first_updates", limit));
}

void UpdateSizes::JudgeWeights(Findings &findings) const {
  if (largest_.value > kLargeWeights) {
    findings.AddClue(FindingOf(largest_.subject, "large_weights", largest_.value, kLargeWeights,
                               SaysScale(largest_.subject.tensor, largest_.value)));
  }
  // A last layer may begin small, so that its outputs do.
  if (2 * small_weights_ > first_weights_) {
    findings.AddClue(FindingOf(smallest_.subject, "small_weights", smallest_.value, kSmallWeights,
                               SaysScale(smallest_.subject.tensor, smallest_.value)));
  }
}

void UpdateSizes::JudgeUsual(Findings &findings) {
  const auto third = first_.begin() + static_cast<std::ptrdiff_t>(kUsual / 3);
  std::nth_element(first_.begin(), third, first_.end());
  const auto told = [&](std::string_view check, double limit) {
    return FindingOf(farthest_.subject, check, *third, limit,
                     StrCat("the first ", kUsual, " updates changed all weights by about ",
                            Shortest(*third), " of themselves"));
  };
  if (limits_.usual && *third > *limits_.usual) {
    Finding large = told("large_updates", *limits_.usual);
    large.level = Level::kWorthALook;
    findings.Add(std::move(large));
  } else if (*third < kSmallUsual) {
    findings.AddClue(told("small_updates", kSmallUsual));
  } else if (*third < kSlowUsual) {
    findings.AddClue(told("slow_updates", kSlowUsual));
  }
}

void UpdateSizes::JudgeTiny(Findings &findings) const {
  double sum = 0;
  for (const double each : last_) sum += each;
  const double mean = sum / static_cast<double>(last_.size());
  const double early = early_ / static_cast<double>(kEarlyTo - kEarlyFrom + 1);
  const double size = std::exp(mean);
  if (!(size < *limits_.tiny) || mean - early > std::log(kWarmsUp)) return;
  Finding tiny = FindingOf(
      farthest_.subject, "tiny_updates", size, *limits_.tiny,
      StrCat("each of the last updates changed all weights by about ", Shortest(size),
             " of themselves, less than the limit of ", Shortest(*limits_.tiny),
             ": a thousand of them change the weights by at most ", Shortest(1e5 * size), " %"));
  if (size > kSurelyTiny * *limits_.tiny) tiny.level = Level::kWorthALook;
  findings.Add(std::move(tiny));
}

void UpdateSizes::JudgeLeft(Findings &findings) {
  if (of_first_ == 0) {
    of_first_ = elements_;
    before_first_ = before_;
  }
  // Another optimizer's weights.
  if (elements_ != of_first_) return;
  const double left = before_ / before_first_;
  shrunk_ = left < *limits_.left ? shrunk_ + 1 : 0;
  if (shrunk_ < kShrunk || shrunk_ % kShrunk != 0) return;
  Finding shrunk = FindingOf(
      farthest_.subject, "shrunk", left, *limits_.left,
      StrCat("the absolute values of all weights together are ", Shortest(100 * left),
             " % of what they were at first, below ", Shortest(100 * *limits_.left),
             " %: weight decay, or another part of the loss, outweighs what is to be learned"));
  if (left > kSurelyShrunk * *limits_.left) shrunk.level = Level::kWorthALook;
  findings.Add(std::move(shrunk));
}

void UpdateSizes::JudgeGrowth(double size, Findings &findings) {
  last_.push_back(std::log(size));
  if (last_.size() <= kGrowing) return;
  record_ = std::max(record_, std::exp(last_.front()));
  last_.pop_front();
  if (updates_ < kWarm + static_cast<int64_t>(kGrowing) || !(size > kRecord * record_)) return;
  const Line line(last_);
  const double growth = std::exp(line.slope);
  if (!(growth > kGrowth) || !(line.fit > kLeastFit)) return;
  findings.AddClue(FindingOf(farthest_.subject, "growing_updates", growth, kGrowth,
                             StrCat("each of the last ", kGrowing, " updates was about ",
                                    Shortest(growth), " times the one before")));
}

}  // namespace smdebug::rules
