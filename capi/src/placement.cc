#include "smdebug/placement.h"

#include "analyze/whole_tensor.h"
#include "guard.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

Status CopyNumbers(const int64_t *numbers, int32_t count, std::string_view name,
                   std::vector<int64_t> *out) {
  if (count < 0 || count > tensor::kMaxRank) {
    return InvalidArgument(StrCat("placement->", name, " has ", count, " numbers; from 0 to ",
                                  tensor::kMaxRank, " are allowed"));
  }
  if (count == 0) return Status::Ok();
  if (numbers == nullptr) return InvalidArgument(StrCat("placement->", name, " is NULL"));
  out->assign(numbers, numbers + count);
  return Status::Ok();
}

constexpr StructKind kKind{"placement", "SMD_PLACEMENT_INIT", sizeof(smd_placement),
                           sizeof(smd_placement)};

Result<config::Placement> PlacementFromC(const smd_placement *placement) {
  SMD_RETURN_IF_ERROR(CheckStruct(placement, kKind));
  config::Placement copy;
  copy.is_flat = placement->is_flat != 0;
  const int32_t rank = copy.is_flat ? 1 : placement->ndim;
  SMD_RETURN_IF_ERROR(CopyNumbers(placement->shape, placement->ndim, "shape", &copy.shape));
  SMD_RETURN_IF_ERROR(CopyNumbers(placement->offset, rank, "offset", &copy.offset));
  SMD_RETURN_IF_ERROR(CopyNumbers(placement->part, rank, "part", &copy.part));
  SMD_RETURN_IF_ERROR(CopyNumbers(placement->mesh, placement->mesh_ndim, "mesh", &copy.mesh));
  SMD_RETURN_IF_ERROR(CopyNumbers(placement->split, placement->mesh_ndim, "split", &copy.split));
  return copy;
}

smd_placement PlacementToC(const config::Placement &placement) {
  smd_placement borrowed = SMD_PLACEMENT_INIT;
  borrowed.shape = placement.shape.data();
  borrowed.offset = placement.offset.data();
  borrowed.part = placement.part.data();
  borrowed.ndim = static_cast<int32_t>(placement.shape.size());
  borrowed.is_flat = placement.is_flat ? 1 : 0;
  borrowed.mesh = placement.mesh.data();
  borrowed.split = placement.split.data();
  borrowed.mesh_ndim = static_cast<int32_t>(placement.mesh.size());
  return borrowed;
}

Result<analyze::WholeTensor> WholeFromC(smd_tensor *tensor, int64_t step, smd_mode mode) {
  SMD_RETURN_IF_ERROR(CheckUsable(tensor, "tensor"));
  SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
  return analyze::WholeTensor::Find(tensor->tensor, step, known);
}

}  // namespace

smd_error *smd_hook_set_placement(smd_hook *hook, const char *tensor,
                                  const smd_placement *placement) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(config::Placement copy, PlacementFromC(placement));
    return hook->hook->SetPlacement(name, std::move(copy));
  });
}

const smd_placement *smd_tensor_placement(smd_tensor *tensor, const char *worker) noexcept {
  if (!IsUsable(tensor) || worker == nullptr) return nullptr;
  return GuardValue<const smd_placement *>(nullptr, [&]() -> const smd_placement * {
    const config::Placement *placement = tensor->tensor.PlacementAt(worker);
    if (placement == nullptr) return nullptr;
    const MutexLock lock(tensor->placements_mutex);
    return &tensor->placements.emplace(placement, PlacementToC(*placement)).first->second;
  });
}

smd_error *smd_tensor_full_shape(smd_tensor *tensor, int64_t step, smd_mode mode,
                                 smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const analyze::WholeTensor whole, WholeFromC(tensor, step, mode));
    return Give(whole.Shape(), out);
  });
}

smd_error *smd_tensor_full_value(smd_tensor *tensor, int64_t step, smd_mode mode,
                                 smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const analyze::WholeTensor whole, WholeFromC(tensor, step, mode));
    return Give(whole.Value(), out);
  });
}

smd_error *smd_tensor_full_reduction(smd_tensor *tensor, int64_t step, smd_mode mode,
                                     const char *reduction, int32_t absolute,
                                     smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::Reduction wanted, ReductionFromC(reduction, absolute));
    SMD_ASSIGN_OR_RETURN(const analyze::WholeTensor whole, WholeFromC(tensor, step, mode));
    return Give(whole.Reduction(wanted), out);
  });
}
