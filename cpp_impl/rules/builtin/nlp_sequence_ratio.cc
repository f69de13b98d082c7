// Finds sequences that consist mostly of one token, such as padding.
#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"
#include "tensor/blocks.h"

namespace smdebug::rules {
namespace {

struct Token {
  double value;
  double most;  // in percent
  std::string token;
};

class NlpSequenceRatio final : public Rule {
 public:
  NlpSequenceRatio(Selector selector, std::vector<Token> tokens, double sure)
      : Rule("NLPSequenceRatio"),
        selector_(std::move(selector)),
        tokens_(std::move(tokens)),
        sure_(sure) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || elements->ElementCount() == 0) return;
    NoteEvaluated();
    for (const Token &token : tokens_) {
      const double share = 100 * static_cast<double>(CountOf(*elements, token.value)) /
                           static_cast<double>(elements->ElementCount());
      if (!(share > token.most)) continue;
      const Level level = share > sure_ ? Level::kFinding : Level::kWorthALook;
      culprits_.Offer(sample, {share, share, token.most, token.token, level}, [&] {
        return StrCat(Shortest(share), " % of '", sample.Tensor(), "' are the ", token.token,
                      "; the limit is ", Shortest(token.most), " %");
      });
    }
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override { return "sequences with their elements"; }

 private:
  static int64_t CountOf(const tensor::View &elements, double token) {
    int64_t found = 0;
    tensor::ForEachNumberBlock(elements, tensor::Part::kWhole, [&](auto &block) {
      const auto *numbers = block.Numbers();
      for (size_t i = 0; i < block.Count(); ++i) {
        found += static_cast<double>(numbers[i]) == token ? 1 : 0;
      }
    });
    return found;
  }

  const Selector selector_;
  const std::vector<Token> tokens_;
  const double sure_;  // in percent
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kEmbeddingInputs, kEmbeddingInputs,
     "expressions found in the names of sequences of tokens, separated by commas; the default "
     "matches the inputs of embeddings in MXNet, PyTorch and Keras, and adds the collection "
     "input_sequence"},
    {"token_values", "0", "0", "tokens to count, separated by commas"},
    {"token_thresholds_percent", "50", "66",
     "maximum percentage of each token in a sequence, separated by commas"},
    {"sure_percent", "0", "90",
     "up to this percentage it is worth a look: models may ignore padding"},
};

Result<std::vector<Token>> TokensOf(const Parameters &parameters) {
  const std::vector<std::string> values = parameters.List("token_values");
  const std::vector<std::string> thresholds = parameters.List("token_thresholds_percent");
  if (values.empty() || values.size() != thresholds.size()) {
    return parameters.Refuse(StrCat("token_values has ", values.size(),
                                    " values, token_thresholds_percent ", thresholds.size(),
                                    "; give as many of each, and at least one"));
  }
  std::vector<Token> tokens;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<double> value = ParseDouble(values[i]);
    const std::optional<double> most = ParseDouble(thresholds[i]);
    if (!value) return parameters.Refuse("token_values must be numbers");
    if (!most || !(*most >= 0 && *most <= 100)) {
      return parameters.Refuse("token_thresholds_percent must be numbers from 0 to 100");
    }
    tokens.push_back({*value, *most, StrCat("token ", values[i])});
  }
  return tokens;
}

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(std::vector<Token> tokens, TokensOf(parameters));
  SMD_ASSIGN_OR_RETURN(const double sure, parameters.Number("sure_percent", 0, 100));
  SMD_ASSIGN_OR_RETURN(Selector selector,
                       TensorsByRole(parameters, "tensor_regex", {"input_sequence"}));
  return std::unique_ptr<Rule>(
      std::make_unique<NlpSequenceRatio>(std::move(selector), std::move(tokens), sure));
}

}  // namespace

const RuleSpec kNlpSequenceRatio = {"NLPSequenceRatio",
                                    "one token makes up more of a sequence than its threshold",
                                    kParameters, Make};

}  // namespace smdebug::rules
