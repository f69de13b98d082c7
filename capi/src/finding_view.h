// Shows a finding to C.
#pragma once

#include "rules/finding.h"
#include "smdebug/rule_set.h"

namespace smdebug::capi {

// The texts point into `finding`.
smd_finding ViewOf(const rules::Finding &finding);

}  // namespace smdebug::capi
