#include "rules/support/label_order.h"

#include <algorithm>
#include <utility>

namespace smdebug::rules {
namespace {

using Counts = std::map<int64_t, int64_t>;

constexpr int64_t kBatches = 32;
constexpr int64_t kFewestLabels = 4;
constexpr size_t kMostLabels = 4096;  // a batch may have a label for each pixel
constexpr double kLeastOfNext = 0.5;

int64_t SumOf(const Counts &counts) {
  int64_t sum = 0;
  for (const auto &[label, count] : counts) sum += count;
  return sum;
}

// Returns the share of pairs of different elements that agree.
double PairsThatAgree(const Counts &counts) {
  const auto sum = static_cast<double>(SumOf(counts));
  double pairs = 0;
  for (const auto &[label, count] : counts) {
    pairs += static_cast<double>(count) * static_cast<double>(count - 1);
  }
  return pairs / (sum * (sum - 1));
}

double PairsThatAgree(const Counts &a, const Counts &b) {
  double pairs = 0;
  for (const auto &[label, count] : a) {
    const auto found = b.find(label);
    if (found != b.end()) pairs += static_cast<double>(count) * static_cast<double>(found->second);
  }
  return pairs / (static_cast<double>(SumOf(a)) * static_cast<double>(SumOf(b)));
}

}  // namespace

void LabelOrder::Add(const std::vector<int64_t> &labels) {
  Counts now;
  const size_t size = std::min(labels.size(), kMostLabels);
  for (size_t i = 0; i < size; ++i) {
    if (labels[i] >= 0) ++now[labels[i]];
  }
  const int64_t sum = SumOf(now);
  if (sum < kFewestLabels) return;
  for (const auto &[label, count] : now) all_[label] += count;
  const double within = PairsThatAgree(now);
  const double next = last_.empty() ? 0 : PairsThatAgree(last_, now);
  for (Sums *sums : {&recent_, &whole_}) {
    sums->within += within;
    sums->next += next;
    ++sums->batches;
  }
  last_ = std::move(now);
}

std::optional<LabelOrder::Agreement> LabelOrder::Take() {
  if (recent_.batches < kBatches) return std::nullopt;
  return AgreementOf(std::exchange(recent_, {}));
}

std::optional<LabelOrder::Agreement> LabelOrder::SinceStart() const {
  if (whole_.batches < 2) return std::nullopt;
  return AgreementOf(whole_);
}

LabelOrder::Agreement LabelOrder::AgreementOf(const Sums &sums) const {
  const auto batches = static_cast<double>(sums.batches);
  return {sums.within / batches, sums.next / batches, PairsThatAgree(all_)};
}

bool LabelOrder::Agreement::IsSorted(double least) const {
  const double of_next = (next - shuffled) / (1 - shuffled);
  return shuffled < 1 && Excess() >= least && of_next >= kLeastOfNext * least;
}

}  // namespace smdebug::rules
