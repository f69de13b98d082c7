#include "smdebug/values.h"

#include "guard.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

// Returns true if `next` begins where `value` ends, in memory that both own.
bool IsFollowedBy(const tensor::Value &value, const tensor::Value &next) {
  return value.data && next.data && value.dtype == next.dtype && value.shape == next.shape &&
         value.data.get() + value.size == next.data.get() && !value.data.owner_before(next.data) &&
         !next.data.owner_before(value.data);
}

Status Read(const smd_tensor *tensor, int64_t first, int64_t end, smd_mode mode, const char *worker,
            std::optional<tensor::Reduction> reduction, smd_values **out) {
  SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
  return Give(
      analyze::ReadValues(tensor->tensor, {first, end, known, OptionalText(worker), reduction}),
      out);
}

}  // namespace

smd_error *smd_tensor_values(smd_tensor *tensor, int64_t first, int64_t end, smd_mode mode,
                             const char *worker, smd_values **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(tensor, "tensor"));
    return Read(tensor, first, end, mode, worker, {}, out);
  });
}

smd_error *smd_tensor_reduction_values(smd_tensor *tensor, int64_t first, int64_t end,
                                       smd_mode mode, const char *worker, const char *reduction,
                                       int32_t absolute, smd_values **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::Reduction wanted, ReductionFromC(reduction, absolute));
    return Read(tensor, first, end, mode, worker, wanted, out);
  });
}

size_t smd_values_count(const smd_values *values) noexcept {
  return values == nullptr ? 0 : values->items.size();
}

int64_t smd_values_step(const smd_values *values, size_t index) noexcept {
  return index < smd_values_count(values) ? values->items[index].step : -1;
}

smd_error *smd_values_get(const smd_values *values, size_t index, smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(values, "values"));
    if (index >= values->items.size()) {
      return InvalidArgument(
          StrCat("there is no value ", index, "; the list has ", values->items.size()));
    }
    return Give(values->items[index].value, out);
  });
}

size_t smd_values_run(const smd_values *values, size_t index) noexcept {
  const size_t count = smd_values_count(values);
  if (index >= count) return 0;
  const auto &items = values->items;
  size_t end = index + 1;
  while (end < count && items[end - 1].value.IsOk() && items[end].value.IsOk() &&
         IsFollowedBy(*items[end - 1].value, *items[end].value)) {
    ++end;
  }
  return end - index;
}

void smd_values_free(smd_values *values) noexcept { delete values; }
