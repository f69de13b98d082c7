// How frameworks name losses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.h"
#include "rules/parameters.h"
#include "rules/sample.h"
#include "rules/selector.h"

namespace smdebug::rules {

// Names that losses have where no collection holds them: "loss", "scalar/val_loss",
// "CrossEntropyLoss_output_0", "softmaxcrossentropyloss0_output_0".
inline constexpr std::string_view kLossNames = R"((^|/)(\w+_)?loss$|[Ll]oss\d*_(?!input).*output)";

// Which loss it is, and of which data.
struct LossName {
  std::string_view loss;  // what the losses of training and validation share
  bool is_of_validation = false;
};

// "loss" for "val_loss", "rmse" for "validation-rmse"; without such a prefix the mode says of
// which data it is.
LossName ReadLossName(std::string_view tensor, Mode mode);

// The tensors that the parameter `tensor_regex` names; without it, losses.  INVALID_CONFIG.
Result<Selector> SelectLosses(const Parameters &parameters);

// The losses of a step, those of training before those of validation: within a step, the
// order in which they were recorded says nothing.
class LossesOfStep {
 public:
  struct Item {
    std::string worker;
    std::string tensor;
    std::string loss;  // as in LossName
    bool is_of_validation;
    double value;
  };

  void Note(const Sample &sample);
  std::vector<Item> Take();

 private:
  std::vector<Item> items_;
};

// The loss, of whose tensor it may be that only its mean was saved; nothing of others.
std::optional<double> LossOf(const Sample &sample);

}  // namespace smdebug::rules
