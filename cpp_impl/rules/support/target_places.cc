#include "rules/support/target_places.h"

#include <algorithm>
#include <set>

namespace smdebug::rules {
namespace {

constexpr int64_t kMostElements = 65'536;
constexpr size_t kMostInputs = 8;  // of one step
constexpr size_t kFewestTokens = 4;
constexpr size_t kLargestOffset = 2;
constexpr int64_t kFewestCompared = 64;
constexpr size_t kFewestKinds = 8;
constexpr double kNearlyAll = 0.99;

constexpr size_t kFewestColumns = 4;  // with fewer, a target may well be a line of one of them
constexpr size_t kMostColumns = 1024;
constexpr int64_t kFewestSamples = 128;
constexpr double kRounding = 1e-9;  // of the variance

// Compares targets, in rows of `length`, with tokens `offset` places later.
bool Matches(const std::vector<double> &targets, size_t length, const std::vector<double> &tokens,
             size_t tokens_of_row, size_t offset) {
  int64_t compared = 0;
  int64_t equal = 0;
  std::set<double> kinds;
  for (size_t i = 0; i < targets.size(); ++i) {
    const size_t place = i % length + offset;
    if (targets[i] < 0 || place >= tokens_of_row) continue;
    ++compared;
    if (kinds.size() < kFewestKinds) kinds.insert(targets[i]);
    equal += targets[i] == tokens[i / length * tokens_of_row + place] ? 1 : 0;
  }
  return compared >= kFewestCompared && kinds.size() >= kFewestKinds &&
         static_cast<double>(equal) >= kNearlyAll * static_cast<double>(compared);
}

// Returns true for what the model itself gets after its first input, as the texts that a decoder is
// to write: "Seq2Seq_input_1".  The model may shift them before it reads them.
bool IsLaterInputOfModel(std::string_view tensor) {
  constexpr std::string_view kInput = "_input_";
  const size_t at = tensor.rfind(kInput);
  return at != std::string_view::npos && tensor[0] >= 'A' && tensor[0] <= 'Z' &&
         tensor.substr(0, at).find('.') == std::string_view::npos &&
         tensor.substr(at + kInput.size()) != "0";
}

}  // namespace

void TokenInputs::Add(const Sample &sample) {
  if (IsLaterInputOfModel(sample.Tensor())) return;
  const tensor::View *const form = sample.RealElements();
  if (form == nullptr || tensor::IsFloat(form->dtype) || form->shape.size() != 2) return;
  const bool is_small = form->ElementCount() <= kMostElements && inputs_.size() < kMostInputs;
  const auto tokens = static_cast<size_t>(form->shape[1]);
  if (!is_small || tokens < kFewestTokens) return;
  inputs_.push_back({std::string(sample.Tensor()), static_cast<size_t>(form->shape[0]), tokens,
                     sample.Numbers()});
}

std::optional<TokenMatch> TokenInputs::Match(const std::vector<double> &targets) const {
  std::optional<TokenMatch> found;
  for (const Input &input : inputs_) {
    if (input.rows == 0 || targets.empty() || targets.size() % input.rows != 0) continue;
    const size_t length = targets.size() / input.rows;
    // A loss may leave out the last tokens.  Of a part of each text, the place is not known.
    if (length > input.tokens_of_row || length + kLargestOffset < input.tokens_of_row) continue;
    for (size_t offset = 0; offset <= kLargestOffset; ++offset) {
      if (!Matches(targets, length, input.elements, input.tokens_of_row, offset)) continue;
      if (offset == 1) return TokenMatch{offset, input.name};
      if (!found) found = TokenMatch{offset, input.name};
    }
  }
  return found;
}

void ColumnsAndTarget::Add(const Sample &sample) {
  const tensor::View *const form = sample.RealElements();
  if (has_input_ || form == nullptr) return;
  has_input_ = true;
  now_.clear();
  const bool is_table = tensor::IsFloat(form->dtype) && form->shape.size() == 2 &&
                        form->ElementCount() <= kMostElements;
  if (!is_table) return;
  const auto columns = static_cast<size_t>(form->shape[1]);
  if (columns < kFewestColumns || columns > kMostColumns) return;
  if (columns != columns_ || name_ != sample.Tensor()) {
    *this = {};
    has_input_ = true;
    columns_ = columns;
    name_ = sample.Tensor();
  }
  now_ = sample.Numbers();
}

void ColumnsAndTarget::AddTargets(const std::vector<double> &targets) {
  if (!has_input_ || columns_ == 0 || now_.size() != targets.size() * columns_) return;
  if (samples_ == 0 && !targets.empty()) {
    first_target_ = targets[0];
    sums_.resize(columns_);
    for (size_t i = 0; i < columns_; ++i) sums_[i].first = now_[i];
  }
  for (size_t row = 0; row < targets.size(); ++row) {
    const double y = targets[row] - first_target_;
    y_ += y;
    yy_ += y * y;
    for (size_t i = 0; i < columns_; ++i) {
      Sums &sums = sums_[i];
      const double x = now_[row * columns_ + i] - sums.first;
      sums.x += x;
      sums.xx += x * x;
      sums.xy += x * y;
    }
  }
  samples_ += static_cast<int64_t>(targets.size());
  ++steps_;
  now_.clear();  // the loss may get further targets
}

bool ColumnsAndTarget::IsLine(const Sums &sums) const {
  const auto count = static_cast<double>(samples_);
  const double of_x = sums.xx - sums.x * sums.x / count;
  const double of_y = yy_ - y_ * y_ / count;
  const double of_both = sums.xy - sums.x * y_ / count;
  // A NaN is no line.
  return of_x > 0 && of_y > 0 && of_x * of_y - of_both * of_both <= kRounding * of_x * of_y;
}

std::optional<ColumnsAndTarget::Column> ColumnsAndTarget::Telling(int64_t patience) const {
  if (steps_ < patience || samples_ < kFewestSamples) return {};
  std::optional<Column> found;
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (!IsLine(sums_[i])) continue;
    if (found) return {};
    found = Column{name_, static_cast<int64_t>(i), samples_};
  }
  return found;
}

}  // namespace smdebug::rules
