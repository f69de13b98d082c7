// The tensors of smdebug/trial.h.
#include "guard.h"
#include "smdebug/trial.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

Status CheckTensor(const smd_tensor *tensor) { return CheckUsable(tensor, "tensor"); }

}  // namespace

const char *smd_tensor_name(const smd_tensor *tensor) noexcept {
  return IsUsable(tensor) ? tensor->tensor.Name().c_str() : "";
}

smd_error *smd_tensor_original_name(smd_tensor *tensor, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    return Give(tensor->tensor.OriginalName(), out);
  });
}

smd_error *smd_tensor_steps(smd_tensor *tensor, smd_mode mode, int32_t incomplete_too,
                            smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(tensor->tensor.Steps(known, incomplete_too != 0), out);
  });
}

smd_error *smd_tensor_prev_steps(smd_tensor *tensor, int64_t step, smd_mode mode, int64_t count,
                                 smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(tensor->tensor.PreviousSteps(step, count, known), out);
  });
}

smd_error *smd_tensor_workers(smd_tensor *tensor, int64_t step, smd_mode mode,
                              smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(tensor->tensor.Workers(step, known), out);
  });
}

smd_error *smd_tensor_value(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                            smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(tensor->tensor.Value(step, known, OptionalText(worker)), out);
  });
}

smd_error *smd_trial_prefetch(smd_trial *trial, const smd_strings *tensors, const int64_t *steps,
                              size_t step_count, smd_mode mode) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(trial, "trial"));
    SMD_RETURN_IF_ERROR(NotNull(tensors, "tensors"));
    if (step_count > 0) SMD_RETURN_IF_ERROR(NotNull(steps, "steps"));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    std::vector<analyze::RecordPlace> places;
    for (const std::string &name : tensors->items) {
      SMD_ASSIGN_OR_RETURN(const auto tensor, analyze::Tensor::Find(trial->trial, name));
      for (size_t i = 0; i < step_count; ++i) {
        SMD_RETURN_IF_ERROR(tensor.AddPlaceToRead(steps[i], known, &places));
      }
    }
    trial->trial->GetEventFiles().Prefetch(places);
    return Status::Ok();
  });
}

smd_error *smd_tensor_shape(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                            smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(tensor->tensor.Shape(step, known, OptionalText(worker)), out);
  });
}

smd_error *smd_tensor_reduction(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                                const char *reduction, int32_t absolute, smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    SMD_ASSIGN_OR_RETURN(const tensor::Reduction wanted, ReductionFromC(reduction, absolute));
    return Give(tensor->tensor.Reduction(step, known, OptionalText(worker), wanted), out);
  });
}

smd_error *smd_tensor_reductions(smd_tensor *tensor, int64_t step, smd_mode mode,
                                 const char *worker, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTensor(tensor));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    SMD_ASSIGN_OR_RETURN(const std::vector<tensor::Reduction> reductions,
                         tensor->tensor.Reductions(step, known, OptionalText(worker)));
    auto names = std::make_unique<smd_strings>();
    for (const tensor::Reduction reduction : reductions) {
      names->items.push_back(tensor::ReductionName(reduction));
    }
    *out = names.release();
    return Status::Ok();
  });
}

void smd_tensor_free(smd_tensor *tensor) noexcept { Free(tensor); }
