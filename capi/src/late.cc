#include "smdebug/late.h"

#include "guard.h"
#include "inputs.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

uint32_t PartsToC(const record::Hook::Selection &selection) {
  uint32_t parts = selection.is_evaluated ? SMD_WANTS_STATISTICS : 0;
  if (selection.parts == nullptr) return parts;
  if (selection.parts->raw) parts |= SMD_WANTS_VALUE;
  if (selection.parts->shape) parts |= SMD_WANTS_SHAPE;
  for (const tensor::Reduction reduction : selection.parts->reductions) {
    parts |= FigureBit(reduction);
  }
  return parts;
}

// As GuardSaving(), for a step that may have ended.
template <class Body>
smd_error *GuardLate(smd_hook *hook, int64_t step, Body &&body) noexcept {
  smd_error *error = Guard(std::forward<Body>(body));
  if (hook != nullptr && smd_error_code(error) == SMD_OUT_OF_MEMORY) hook->hook->DropStep(step);
  return error;
}

}  // namespace

smd_error *smd_hook_expect(smd_hook *hook, const char *tensor, uint32_t *parts_out) noexcept {
  return GuardSaving(hook, [&]() -> Status {
    SMD_CLEAR_OUT(parts_out);
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    return hook->hook->Expect(name, [parts_out](const record::Hook::Selection &selection) {
      *parts_out = PartsToC(selection);
    });
  });
}

smd_error *smd_hook_save_late(smd_hook *hook, const char *tensor, int64_t global_step,
                              const smd_tensor_view *view) noexcept {
  return GuardLate(hook, global_step, [&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    return hook->hook->SaveLate(global_step, name, checked);
  });
}

smd_error *smd_hook_save_late_dlpack(smd_hook *hook, const char *tensor, int64_t global_step,
                                     DLManagedTensorVersioned *dlpack) noexcept {
  return GuardLate(hook, global_step, [&]() -> Status {
    // Before any check: the deleter is called however this ends.
    const std::shared_ptr<const HeldDlpack> held = HoldDlpack(dlpack);
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View view, held->tensor.AsView());
    record::SharedOwner owner(held);
    return hook->hook->SaveLate(global_step, name, view, &owner);
  });
}

smd_error *smd_hook_save_late_statistics(smd_hook *hook, const char *tensor, int64_t global_step,
                                         const smd_statistics *statistics) noexcept {
  return GuardLate(hook, global_step, [&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::GivenStatistics given, GivenFromC(statistics));
    return hook->hook->SaveLate(global_step, name, given);
  });
}

smd_error *smd_hook_forgo(smd_hook *hook, const char *tensor, int64_t global_step) noexcept {
  return GuardLate(hook, global_step, [&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    return hook->hook->Forgo(global_step, name);
  });
}
