// Finds workers whose weights differ from those of the other workers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/checksum.h"
#include "rules/support/named_tensors.h"
#include "rules/support/selector.h"
#include "rules/support/words.h"
#include "tensor/blocks.h"

namespace smdebug::rules {
namespace {

// The checksum ignores the order of elements: workers may lay out the same tensor differently.
template <size_t kSize>
uint64_t ChecksumOfElements(const tensor::View &view) {
  auto sum = static_cast<uint64_t>(view.ElementCount());
  tensor::ForEachBlock(view, [&](const std::byte *elements, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      uint64_t parts[2] = {};
      std::memcpy(parts, elements + i * kSize, kSize);
      sum += MixBits(parts[0] + 1) + (kSize > 8 ? 3 * MixBits(parts[1] + 2) : 0);
    }
  });
  return sum;
}

uint64_t ChecksumOf(const tensor::View &view) {
  switch (tensor::DTypeSize(view.dtype)) {
    case 1: return ChecksumOfElements<1>(view);
    case 2: return ChecksumOfElements<2>(view);
    case 4: return ChecksumOfElements<4>(view);
    case 8: return ChecksumOfElements<8>(view);
    default: return ChecksumOfElements<16>(view);
  }
}

// Holds the compared figures of one worker's tensor.  A figure that was not saved is NaN.
struct Replica {
  std::string worker;
  const config::Placement *placement = nullptr;  // NULL: the whole tensor
  double l2 = kNoNumber;
  double l1 = kNoNumber;
  double sum = kNoNumber;
  double max = kNoNumber;  // of absolute values
  std::optional<uint64_t> checksum;
};

double FigureOf(const Sample &sample, tensor::ReductionKind kind, bool absolute = false) {
  return sample.Reduce({kind, absolute}).value_or(kNoNumber);
}

bool AreNear(double a, double b, double limit) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= limit;
}

using Replicas = std::vector<Replica>;  // of the same part

bool AreOfOnePart(const Replica &a, const Replica &b) {
  if (a.placement == nullptr || b.placement == nullptr) return a.placement == b.placement;
  return a.placement->IsSamePart(*b.placement);
}

bool AreEqual(const Replica &a, const Replica &b, double rtol) {
  if (a.checksum && b.checksum) return *a.checksum == *b.checksum;
  // Sums may cancel, so their tolerance is a fraction of the summed absolute values.
  const double of_sum = std::isnan(b.l1) ? std::abs(b.sum) : b.l1;
  return AreNear(a.l2, b.l2, rtol * b.l2) && AreNear(a.l1, b.l1, rtol * b.l1) &&
         AreNear(a.sum, b.sum, rtol * of_sum) && AreNear(a.max, b.max, rtol * b.max);
}

double DistanceOf(const Replica &a, const Replica &b) {
  double distance = 0;
  for (const auto &[of_a, of_b] : {std::pair{a.l2, b.l2}, {a.l1, b.l1}, {a.max, b.max}}) {
    if (AreNear(of_a, of_b, 0)) continue;
    const double relative = std::abs(of_a - of_b) / std::abs(of_b);
    distance = std::max(distance, std::isnan(relative) ? INFINITY : relative);
  }
  return distance;
}

class WorkerDivergence final : public Rule {
 public:
  WorkerDivergence(Selector selector, double rtol, bool bitwise)
      : Rule("WorkerDivergence"), selector_(std::move(selector)), rtol_(rtol), bitwise_(bitwise) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (worker_.empty()) worker_ = sample.Worker();
    has_several_ = has_several_ || sample.Worker() != worker_;
    if (has_ended_step_ && !has_several_) return;
    Replica replica;
    replica.worker = sample.Worker();
    replica.placement = sample.Placement();
    replica.l2 = FigureOf(sample, tensor::ReductionKind::kL2);
    replica.l1 = FigureOf(sample, tensor::ReductionKind::kL1);
    replica.sum = FigureOf(sample, tensor::ReductionKind::kSum);
    replica.max = FigureOf(sample, tensor::ReductionKind::kMax, true);
    if (bitwise_ && sample.Elements() != nullptr) {
      replica.checksum = ChecksumOf(*sample.Elements());
    }
    const auto [place, is_new] = places_.emplace(sample.Tensor(), tensors_.size());
    if (is_new) tensors_.emplace_back(sample.Tensor(), std::vector<Replicas>());
    for (Replicas &replicas : tensors_[place->second].second) {
      if (!AreOfOnePart(replicas.front(), replica)) continue;
      // A job may save a tensor twice in a step, and change it in between.
      const bool is_known = std::any_of(replicas.begin(), replicas.end(), [&](const Replica &each) {
        return each.worker == replica.worker;
      });
      if (!is_known) replicas.push_back(std::move(replica));
      return;
    }
    tensors_[place->second].second.push_back({std::move(replica)});
  }

  void EndStep(Findings &findings) override {
    has_ended_step_ = true;
    for (const auto &[tensor, parts] : tensors_) {
      for (const Replicas &replicas : parts) {
        if (replicas.size() < 2) continue;
        NoteEvaluated();
        Evaluate(tensor, replicas);
      }
    }
    for (auto &[worker, culprit] : culprits_) findings.Add(std::move(culprit.finding));
    culprits_.clear();
    places_.clear();
    tensors_.clear();
    if (!has_several_) tensors_.shrink_to_fit();
  }

  std::string Missing() const override {
    return "a weight, or the same part of one, of two workers at the same step";
  }

 private:
  struct Culprit {
    double distance;
    Finding finding;
  };

  // Returns the first replica of the largest group of equal replicas.
  const Replica &MajorityOf(const Replicas &replicas) const {
    size_t most = 0;
    const Replica *majority = nullptr;
    for (const Replica &each : replicas) {
      size_t equal = 0;
      for (const Replica &other : replicas)
        equal += static_cast<size_t>(AreEqual(other, each, rtol_));
      if (equal <= most) continue;
      most = equal;
      majority = &each;
    }
    return majority == nullptr ? replicas.front() : *majority;
  }

  void Evaluate(const std::string &tensor, const Replicas &replicas) {
    const Replica &majority = MajorityOf(replicas);
    for (const Replica &replica : replicas) {
      if (AreEqual(replica, majority, rtol_)) continue;
      const double distance = DistanceOf(replica, majority);
      const auto known = culprits_.find(replica.worker);
      if (known != culprits_.end() && distance <= known->second.distance) continue;
      Finding finding;
      finding.worker = replica.worker;
      finding.tensor = tensor;
      finding.value = distance;
      finding.limit = bitwise_ ? 0 : rtol_;
      finding.message = StrCat(
          "'", tensor, "' of ", replica.worker, " has the norm ", Shortest(replica.l2),
          " and the largest element ", Shortest(replica.max), ", that of ", majority.worker, " ",
          Shortest(majority.l2), " and ", Shortest(majority.max), ": they should be the same");
      culprits_.insert_or_assign(replica.worker, Culprit{distance, std::move(finding)});
    }
  }

  const Selector selector_;
  const double rtol_;
  const bool bitwise_;
  std::map<std::string, size_t, std::less<>> places_;  // index in tensors_
  // By tensor, its parts.
  std::vector<std::pair<std::string, std::vector<Replicas>>> tensors_;
  std::map<std::string, Culprit> culprits_;  // by worker: the tensor with the largest distance
  // A hook sees the tensors of one worker only: then nothing is computed after its first step.
  std::string worker_;  // the first one
  bool has_several_ = false;
  bool has_ended_step_ = false;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "weights,biases", "weights,biases", kCollectionNamesMeaning},
    {"tensor_regex", "None", "None", kTensorRegexMeaning},
    {"rtol", "1e-5", "1e-5", "maximum relative difference of norms, sums and largest elements"},
    {"bitwise", "False", "False", "true compares all bits, by a checksum"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double rtol, parameters.Number("rtol", 0, 1));
  SMD_ASSIGN_OR_RETURN(const bool bitwise, parameters.Switch("bitwise"));
  SMD_ASSIGN_OR_RETURN(Selector selector, RequiredTensors(parameters));
  return std::unique_ptr<Rule>(
      std::make_unique<WorkerDivergence>(std::move(selector), rtol, bitwise));
}

}  // namespace

const RuleSpec kWorkerDivergence = {"WorkerDivergence",
                                    "a worker's weights differ from those of the other workers",
                                    kParameters, Make};

}  // namespace smdebug::rules
