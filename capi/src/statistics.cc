#include "smdebug/statistics.h"

#include "guard.h"
#include "inputs.h"
#include "tensor/given_statistics.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

using tensor::ReductionKind;

struct FigureRow {
  uint32_t bit;
  tensor::Reduction reduction;
  double smd_statistics::*figure;
};

constexpr FigureRow kFigures[] = {
    {SMD_HAS_MIN, {ReductionKind::kMin, false}, &smd_statistics::min},
    {SMD_HAS_MAX, {ReductionKind::kMax, false}, &smd_statistics::max},
    {SMD_HAS_MEDIAN, {ReductionKind::kMedian, false}, &smd_statistics::median},
    {SMD_HAS_MEAN, {ReductionKind::kMean, false}, &smd_statistics::mean},
    {SMD_HAS_VARIANCE, {ReductionKind::kVariance, false}, &smd_statistics::variance},
    {SMD_HAS_SUM, {ReductionKind::kSum, false}, &smd_statistics::sum},
    {SMD_HAS_PROD, {ReductionKind::kProd, false}, &smd_statistics::prod},
    {SMD_HAS_L1, {ReductionKind::kL1, false}, &smd_statistics::l1},
    {SMD_HAS_L2, {ReductionKind::kL2, false}, &smd_statistics::l2},
    {SMD_HAS_ABS_MIN, {ReductionKind::kMin, true}, &smd_statistics::abs_min},
    {SMD_HAS_ABS_MAX, {ReductionKind::kMax, true}, &smd_statistics::abs_max},
    {SMD_HAS_ABS_MEDIAN, {ReductionKind::kMedian, true}, &smd_statistics::abs_median},
    {SMD_HAS_ABS_MEAN, {ReductionKind::kMean, true}, &smd_statistics::abs_mean},
    {SMD_HAS_ABS_VARIANCE, {ReductionKind::kVariance, true}, &smd_statistics::abs_variance},
};

Status AddFigures(const smd_statistics &statistics, tensor::GivenStatistics *given) {
  uint32_t unknown = statistics.given & ~uint32_t{SMD_HAS_COUNTS};
  for (const FigureRow &row : kFigures) {
    if ((statistics.given & row.bit) == 0) continue;
    given->Figure(row.reduction) = statistics.*row.figure;
    unknown &= ~row.bit;
  }
  if (unknown != 0) {
    return InvalidArgument(
        StrCat("statistics->given has bits that are not known: ", unknown, "; use SMD_HAS_..."));
  }
  if ((statistics.given & SMD_HAS_COUNTS) != 0) {
    given->counts = {statistics.nan_count, statistics.inf_count, statistics.zero_count};
  }
  given->Derive();
  return Status::Ok();
}

}  // namespace

Result<tensor::GivenStatistics> capi::GivenFromC(const smd_statistics *statistics) {
  constexpr StructKind kKind{"statistics", "SMD_STATISTICS_INIT",
                             offsetof(smd_statistics, abs_variance) + sizeof(double),
                             sizeof(smd_statistics)};
  SMD_RETURN_IF_ERROR(CheckStruct(statistics, kKind));
  const auto dtype = tensor::DTypeFromNumber(statistics->dtype);
  if (!dtype) {
    return InvalidArgument(
        StrCat("statistics->dtype is ", statistics->dtype,
               ", which is not a dtype; use a value of smd_dtype such as SMD_FLOAT32"));
  }
  tensor::GivenStatistics given;
  SMD_ASSIGN_OR_RETURN(given.form, tensor::View::Form(statistics->shape, statistics->ndim, *dtype));
  if (statistics->sample != nullptr || statistics->sample_count != 0) {
    SMD_ASSIGN_OR_RETURN(
        given.sample,
        tensor::View::Check(statistics->sample, &statistics->sample_count, nullptr, 1, *dtype));
  }
  SMD_RETURN_IF_ERROR(AddFigures(*statistics, &given));
  SMD_RETURN_IF_ERROR(given.Check());
  return given;
}

uint32_t capi::FigureBit(tensor::Reduction reduction) {
  using enum ReductionKind;
  const bool is_plain_too = reduction.IsNorm() || reduction.kind == kProd;
  tensor::Reduction source = reduction;
  if (reduction.kind == kStd) source.kind = kVariance;
  if (is_plain_too) source.absolute = false;
  if (reduction == tensor::Reduction{kSum, true}) source = {kL1, false};
  for (const FigureRow &row : kFigures) {
    if (row.reduction == source) return row.bit;
  }
  return 0;
}

smd_error *smd_hook_save_statistics(smd_hook *hook, const char *tensor,
                                    const smd_statistics *statistics) noexcept {
  return GuardSaving(hook, [&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::GivenStatistics given, GivenFromC(statistics));
    return hook->hook->SaveStatistics(name, given);
  });
}
