// What the names of losses, metrics and other numbers say; `report`, `serve` and `diff` read them
// alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Returns true if the name is that of a loss.
bool IsNameOfLoss(std::string_view name);
// Returns true if the name or a collection says that a tensor is a loss.
bool IsLoss(std::string_view name, const std::vector<std::string> &collections);

// Returns the measure without the data set, so that curves of one measure share a chart: "auc" for
// "train-auc" and "val_auc", "loss" for "loss/val".
std::string CurveMeasure(std::string_view name, const std::vector<std::string> &collections);

}  // namespace smdebug::cli
