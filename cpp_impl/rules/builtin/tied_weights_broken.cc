// Finds an embedding and an output layer that shared their weights and no longer do.
#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/checksum.h"
#include "rules/support/named_tensors.h"
#include "rules/support/roles.h"
#include "rules/support/told.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kEmbedding, kHead };

constexpr std::string_view kEmbeddings = R"((?i)^(?!gradient|update).*(embed|wte|tok)[^/]*weight)";
constexpr std::string_view kHeads =
    R"((?i)^(?!gradient|update).*(head|unembed|decoder|output|proj_out)[^/]*weight)";

// An update changes nearly all elements of such weights.
constexpr int64_t kElements = 4096;

class TiedWeightsBroken final : public Rule {
 public:
  explicit TiedWeightsBroken(Roles roles) : Rule("TiedWeightsBroken"), roles_(std::move(roles)) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<uint64_t> checksum = ChecksumOf(sample, kElements);
    if (!checksum || sample.Form()->shape.size() != 2) return;
    Weight weight{std::string(sample.Tensor()),
                  *checksum,
                  {sample.Form()->shape.begin(), sample.Form()->shape.end()}};
    Weights &weights = workers_[std::string(sample.Worker())];
    (sample.Role() == kEmbedding ? weights.embeddings : weights.heads).push_back(std::move(weight));
  }

  void EndStep(Findings &findings) override {
    for (auto &[worker, weights] : workers_) {
      for (const Weight &embedding : weights.embeddings) {
        for (const Weight &head : weights.heads) {
          if (embedding.shape == head.shape) Evaluate(worker, embedding, head, findings);
        }
      }
    }
    workers_.clear();
  }

  std::string Missing() const override {
    return "the weights of an embedding and of an output layer of the same shape";
  }

 private:
  struct Weight {
    std::string name;
    uint64_t checksum;
    std::vector<int64_t> shape;
  };
  struct Weights {
    std::vector<Weight> embeddings;
    std::vector<Weight> heads;
  };

  void Evaluate(const std::string &worker, const Weight &embedding, const Weight &head,
                Findings &findings) {
    NoteEvaluated();
    const std::string pair = StrCat(worker, "\n", embedding.name, "\n", head.name);
    if (embedding.checksum == head.checksum) {
      tied_.insert(pair);
    } else if (tied_.count(pair) > 0) {
      findings.Add(FindingOf({worker, head.name}, "", kNoNumber, kNoNumber,
                             StrCat("'", head.name, "' was equal to '", embedding.name,
                                    "' and is no longer: their weights are not tied")));
    }
  }

  const Roles roles_;
  std::map<std::string, Weights> workers_;  // of this step
  std::set<std::string> tied_;
};

constexpr ParameterSpec kParameters[] = {
    {"embedding_regex", kEmbeddings, kEmbeddings,
     "expressions found in the names of the weights of embeddings"},
    {"head_regex", kHeads, kHeads, "expressions found in the names of the weights of outputs"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  std::vector<Selector> selectors(2);
  SMD_ASSIGN_OR_RETURN(selectors[kEmbedding], TensorsByRole(parameters, "embedding_regex", {}));
  SMD_ASSIGN_OR_RETURN(selectors[kHead], TensorsByRole(parameters, "head_regex", {}));
  return std::unique_ptr<Rule>(std::make_unique<TiedWeightsBroken>(Roles(std::move(selectors))));
}

}  // namespace

const RuleSpec kTiedWeightsBroken = {"TiedWeightsBroken",
                                     "an embedding and an output layer that were equal differ",
                                     kParameters, Make, "llm"};

}  // namespace smdebug::rules
