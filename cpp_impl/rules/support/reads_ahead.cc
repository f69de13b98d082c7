#include "rules/support/reads_ahead.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace smdebug::rules {
namespace {

constexpr int64_t kMostTokens = 65'536;
constexpr size_t kFewestTokens = 4;  // of a text
constexpr size_t kMostLeftOut = 2;   // tokens at the end of a text for which a loss has no scores
constexpr int64_t kMostModules = 64;
constexpr int64_t kFewestPairs = 40;
// The scores to read in a step.  More pairs follow at the next steps.
constexpr size_t kMostScores = 262'144;

// Returns "GPT" for "GPT_input_0".
std::string_view ModuleOf(std::string_view input) {
  return input.substr(0, input.rfind("_input_"));
}

// Returns the number of the largest score of one row.
double LargestOf(const Sample &sample, size_t row, size_t length) {
  const tensor::View &scores = *sample.RealElements();
  const auto rank = scores.shape.size();
  int64_t own[3] = {scores.shape[1] * (rank == 3 ? scores.shape[2] : 1),
                    rank == 3 ? scores.shape[2] : 1, 1};
  if (!scores.IsCompact()) std::copy(scores.strides.begin(), scores.strides.end(), own);
  const auto text = static_cast<int64_t>(rank == 3 ? row / length : row);
  const auto place = static_cast<int64_t>(rank == 3 ? row % length : 0);
  const auto bytes = static_cast<int64_t>(tensor::DTypeSize(scores.dtype));
  const int64_t shape[] = {scores.shape[1]};
  const int64_t strides[] = {own[1]};
  const auto *data = static_cast<const std::byte *>(scores.data);
  Sample of_row(sample.Place(), sample.Worker(), sample.Tensor());
  of_row.SetElements(
      {data + (text * own[0] + place * own[2]) * bytes, shape, strides, scores.dtype});
  const std::vector<double> numbers = of_row.Numbers();
  return static_cast<double>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
}

}  // namespace

void ReadsAhead::AddInput(const Sample &sample) {
  const tensor::View *const form = sample.RealElements();
  if (form == nullptr || form->shape.empty() || knows_more_) return;
  const bool are_numbers = tensor::IsFloat(form->dtype);
  const auto first = static_cast<size_t>(form->shape[0]);
  const auto last = static_cast<size_t>(form->shape.back());
  const bool are_texts = !are_numbers && form->shape.size() == 2 && first > 1 &&
                         last >= kFewestTokens && form->ElementCount() <= kMostTokens;
  const bool is_first = are_texts && texts_ == 0;
  if (is_first) {
    texts_ = first;
    length_ = last;
    tokens_ = sample.Numbers();
    knows_more_ = earlier_ != 0 && earlier_ != length_;
  }
  const std::string_view module = ModuleOf(sample.Tensor());
  if (are_texts && first == texts_ && last == length_) {
    readers_.emplace(module);
    knows_more_ |= !is_first && TellsMore(sample);
  } else if (are_numbers) {
    // What comes before any token is no result of tokens.
    knows_more_ |= texts_ == 0;
    if (std::ssize(others_) < kMostModules) others_.emplace(module);
  } else if (form->shape.size() > 1 && first > 1) {
    knows_more_ = true;
  } else if (texts_ == 0) {
    earlier_ = last;
  } else {
    // Only the places of tokens are the same for all texts.
    knows_more_ |= last != length_;
  }
  knows_more_ |= readers_.contains(module) && others_.contains(module);
}

// Other whole numbers of that shape may be a mask or places, or other texts.
bool ReadsAhead::TellsMore(const Sample &sample) const {
  const std::vector<double> numbers = sample.Numbers();
  if (numbers == tokens_) return false;
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const bool is_mask = *least >= 0 && *most <= 1;
  const auto row = numbers.begin() + static_cast<std::ptrdiff_t>(length_);
  return !is_mask && !std::equal(row, numbers.end(), numbers.begin());
}

size_t ReadsAhead::LengthOf(const tensor::View &scores) const {
  if (texts_ == 0 || knows_more_) return 0;
  const size_t rank = scores.shape.size();
  if (rank < 2 || rank > 3) return 0;
  const auto first = static_cast<size_t>(scores.shape[0]);
  const auto rows = rank == 2 ? first : first * static_cast<size_t>(scores.shape[2]);
  if (rows % texts_ != 0 || (rank == 3 && first != texts_)) return 0;
  const size_t length = rows / texts_;
  return length > length_ || length + kMostLeftOut < length_ ? 0 : length;
}

void ReadsAhead::AddScores(const Sample &sample) {
  const tensor::View *const scores = sample.RealElements();
  if (scores == nullptr || !guesses_.empty()) return;
  const size_t length = LengthOf(*scores);
  if (length == 0 || scores->shape[1] < 2) return;
  std::vector<size_t> order(texts_);
  std::iota(order.begin(), order.end(), 0);
  const auto begin = [&](size_t text) {
    return tokens_.begin() + static_cast<std::ptrdiff_t>(text * length_);
  };
  const auto size = static_cast<std::ptrdiff_t>(length_);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(begin(a), begin(a) + size, begin(b), begin(b) + size);
  });
  // Neighbours have the most in common.
  const size_t most = 1 + kMostScores / (2 * static_cast<size_t>(scores->shape[1]));
  for (size_t i = 1; i < order.size() && guesses_.size() < most; ++i) {
    const size_t a = order[i - 1];
    const size_t b = order[i];
    const auto differs = std::mismatch(begin(a), begin(a) + size, begin(b)).first;
    const auto common = static_cast<size_t>(differs - begin(a));
    if (common == 0 || common > length || common == length_) continue;
    const size_t rows[] = {a * length + common - 1, b * length + common - 1};
    guesses_.push_back({{rows[0], rows[1]},
                        {LargestOf(sample, rows[0], length), LargestOf(sample, rows[1], length)}});
  }
}

void ReadsAhead::AddTargets(const std::vector<double> &targets) {
  for (const Guess &guess : std::exchange(guesses_, {})) {
    const auto [a, b] = guess.rows;
    if (std::max(a, b) >= targets.size()) continue;
    if (targets[a] < 0 || targets[b] < 0 || targets[a] == targets[b]) continue;
    ++now_.all;
    if (targets[a] == guess.tokens[0] && targets[b] == guess.tokens[1]) ++now_.told;
  }
  if (now_.all >= kFewestPairs) before_ = std::exchange(now_, {});
}

void ReadsAhead::EndStep() {
  tokens_.clear();
  texts_ = length_ = earlier_ = 0;
  readers_.clear();
  others_.clear();
  knows_more_ = false;
  guesses_.clear();
}

std::optional<ReadsAhead::Pairs> ReadsAhead::Last() const {
  return before_.all == 0 ? std::nullopt : std::optional<Pairs>(before_);
}

}  // namespace smdebug::rules
