#include "rules/source.h"

namespace smdebug::rules {

bool IsMissingData(const Status &status) {
  switch (status.GetCode()) {
    case Code::kStepUnavailable:
    case Code::kTensorUnavailable:
    case Code::kValueUnavailable:
    case Code::kShapeUnavailable: return true;
    default: return false;
  }
}

}  // namespace smdebug::rules
