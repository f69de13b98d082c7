#include "rules/support/selector.h"

#include <algorithm>

#include "rules/support/tensor_names.h"

namespace smdebug::rules {

Result<Selector> Selector::Make(std::vector<std::string> collections,
                                const std::vector<std::string> &regexes) {
  Selector selector;
  selector.collections_ = std::move(collections);
  for (const std::string &regex : regexes) {
    SMD_ASSIGN_OR_RETURN(Regex compiled, Regex::Compile(regex));
    selector.regexes_.push_back(std::move(compiled));
  }
  return selector;
}

bool Selector::Matches(std::string_view tensor, const Membership &membership) const {
  return std::any_of(collections_.begin(), collections_.end(),
                     [&](const std::string &each) {
                       return membership.IsIn(each, tensor) && IsMeantBy(each, tensor);
                     }) ||
         std::any_of(regexes_.begin(), regexes_.end(), [&](const Regex &each) {
           // A search that exceeds its limits counts as no match.
           const auto found = each.IsFoundIn(tensor);
           return found.IsOk() && *found;
         });
}

}  // namespace smdebug::rules
