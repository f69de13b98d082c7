#include "config/collection_names.h"

#include <algorithm>

namespace smdebug::config {
namespace {

constexpr std::array<std::string_view, 6> kScalarCollections = {
    "losses",       "metrics",    "feature_importance",
    "average_shap", "sm_metrics", "tensorflow_summaries"};

constexpr std::array<std::string_view, 2> kTrainingCollections = {"gradients",
                                                                  "optimizer_variables"};

template <class Names>
bool Contains(const Names &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool IsKnownCollection(std::string_view name) { return Contains(kKnownCollections, name); }

bool IsScalarCollection(std::string_view name) { return Contains(kScalarCollections, name); }

bool IsTrainingCollection(std::string_view name) { return Contains(kTrainingCollections, name); }

}  // namespace smdebug::config
