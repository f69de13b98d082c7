// Interprets the names that frameworks give to losses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.h"
#include "rules/support/parameters.h"
#include "rules/support/sample.h"
#include "rules/support/selector.h"

namespace smdebug::rules {

// Matches names of losses that no collection holds: "loss", "scalar/val_loss",
// "CrossEntropyLoss_output_0", "softmaxcrossentropyloss0_output_0".
inline constexpr std::string_view kLossNames =
    R"((^|/)(\w+_)?loss$|[Ll]oss\d*_(?!input|scal|weight).*output)";

// Identifies a loss and the data that it was computed on.
struct LossName {
  std::string_view loss;  // the common name of the training and validation loss
  bool is_of_validation = false;
};

// Returns "loss" for "val_loss" and "rmse" for "validation-rmse".  Without such a prefix, the mode
// selects the data.
LossName ReadLossName(std::string_view tensor, Mode mode);

// Returns whether the name says that another network works against this loss, or that its target
// moves, so that it need not fall: "discriminator_loss", "loss_G", "critic_loss", "td_loss".
bool NeedNotFall(std::string_view tensor);

// Selects the tensors that the parameter `tensor_regex` names, or losses if it is not given.  Fails
// with INVALID_CONFIG for a bad expression.
Result<Selector> SelectLosses(const Parameters &parameters);

// Holds the losses of a step, training losses before validation losses.  The order in which they
// were recorded within a step means nothing.
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

// Returns the loss, or its saved mean if the elements were not saved.  Returns nothing for other
// tensors.
std::optional<double> LossOf(const Sample &sample);

}  // namespace smdebug::rules
