// The names of collections that mean something to the library.
#pragma once

#include <array>
#include <string_view>

namespace smdebug::config {

inline constexpr std::string_view kDefaultCollection = "default";
inline constexpr std::string_view kAllCollection = "all";
inline constexpr std::string_view kLossesCollection = "losses";
inline constexpr std::string_view kGradientsCollection = "gradients";

// Every name the original knows; one that is not among them is the user's.
inline constexpr std::array<std::string_view, 20> kKnownCollections = {
    "default",
    "all",
    "weights",
    "biases",
    "gradients",
    "optimizer_variables",
    "inputs",
    "outputs",
    "layers",
    "predictions",
    "labels",
    "losses",
    "metrics",
    "sm_metrics",
    "tensorflow_summaries",
    "hyperparameters",
    "feature_importance",
    "average_shap",
    "full_shap",
    "trees",
};

bool IsKnownCollection(std::string_view name);

// Saved raw whatever the reduction config says: losses, metrics and their kin.
bool IsScalarCollection(std::string_view name);

// Saved in TRAIN and GLOBAL steps only: gradients, optimizer variables.
bool IsTrainingCollection(std::string_view name);

}  // namespace smdebug::config
