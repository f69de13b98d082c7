// The collection names with a special meaning.
#pragma once

#include <array>
#include <string_view>

namespace smdebug::config {

inline constexpr std::string_view kDefaultCollection = "default";
inline constexpr std::string_view kAllCollection = "all";
inline constexpr std::string_view kLossesCollection = "losses";
inline constexpr std::string_view kGradientsCollection = "gradients";

// All names that the original knows.  Any other name is the user's.
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

// Returns true for losses, metrics and similar collections, which are saved raw regardless of
// the reduction config.
bool IsScalarCollection(std::string_view name);

// Returns true for gradients and optimizer variables, which are saved only in TRAIN and GLOBAL
// steps.
bool IsTrainingCollection(std::string_view name);

}  // namespace smdebug::config
