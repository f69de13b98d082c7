#include "rules/support/named_tensors.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kCollectionNames = "collection_names";
constexpr std::string_view kTensorRegex = "tensor_regex";

Result<Selector> Select(const Parameters &parameters, std::vector<std::string> collections,
                        const std::vector<std::string> &regexes, std::string_view regex_parameter) {
  auto selector = Selector::Make(std::move(collections), regexes);
  if (!selector.IsOk()) {
    return parameters.Refuse(StrCat(regex_parameter, ": ", selector.GetStatus().Message()));
  }
  return selector;
}

}  // namespace

Result<Selector> NamedTensors(const Parameters &parameters, std::vector<std::string> more) {
  std::vector<std::string> collections = parameters.List(kCollectionNames);
  std::move(more.begin(), more.end(), std::back_inserter(collections));
  return Select(parameters, std::move(collections), parameters.List(kTensorRegex), kTensorRegex);
}

bool IsAmong(const Selector &selector, std::string_view tensor, const Membership &membership) {
  if (selector.IsEmpty()) return !membership.IsIn("trees", tensor);
  return selector.Matches(tensor, membership);
}

bool IsInputOfLoss(std::string_view tensor, const Membership &membership) {
  const size_t place = tensor.rfind("_input_");
  return place != std::string_view::npos &&
         membership.IsIn("losses", StrCat(tensor.substr(0, place), "_output_0"));
}

Result<Selector> RequiredTensors(const Parameters &parameters) {
  const auto takes = [&](std::string_view one, std::string_view other) {
    return parameters.IsGiven(one) || !parameters.IsGiven(other);
  };
  std::vector<std::string> collections;
  std::vector<std::string> regexes;
  if (takes(kCollectionNames, kTensorRegex)) collections = parameters.List(kCollectionNames);
  if (takes(kTensorRegex, kCollectionNames)) regexes = parameters.List(kTensorRegex);
  SMD_ASSIGN_OR_RETURN(Selector selector,
                       Select(parameters, std::move(collections), regexes, kTensorRegex));
  if (selector.IsEmpty()) {
    return parameters.Refuse("give collection_names or tensor_regex, or both");
  }
  return selector;
}

Result<Selector> TensorsByRole(const Parameters &parameters, std::string_view parameter,
                               std::vector<std::string> collections) {
  if (parameters.IsGiven(parameter)) collections.clear();
  SMD_ASSIGN_OR_RETURN(Selector selector, Select(parameters, std::move(collections),
                                                 parameters.List(parameter), parameter));
  if (selector.IsEmpty()) return parameters.Refuse(StrCat(parameter, " is empty"));
  return selector;
}

}  // namespace smdebug::rules
