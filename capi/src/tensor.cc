#include "smdebug/tensor.h"

#include "guard.h"
#include "tensor/dlpack.h"
#include "tensor/statistics.h"

using namespace smdebug;
using namespace smdebug::capi;

smd_dtype smd_value_dtype(const smd_value *value) noexcept {
  return value == nullptr ? SMD_DTYPE_INVALID : static_cast<smd_dtype>(value->value.dtype);
}

int32_t smd_value_ndim(const smd_value *value) noexcept {
  return value == nullptr ? 0 : static_cast<int32_t>(value->value.shape.size());
}

const int64_t *smd_value_shape(const smd_value *value) noexcept {
  return value == nullptr ? nullptr : value->value.shape.data();
}

const void *smd_value_data(const smd_value *value) noexcept {
  return value == nullptr || value->value.size == 0 ? nullptr : value->value.data.get();
}

size_t smd_value_nbytes(const smd_value *value) noexcept {
  return value == nullptr ? 0 : value->value.size;
}

smd_value *smd_value_retain(const smd_value *value) noexcept {
  if (value == nullptr) return nullptr;
  return GuardValue<smd_value *>(nullptr, [&] { return new smd_value{value->value}; });
}

void smd_value_free(smd_value *value) noexcept { delete value; }

smd_error *smd_value_to_dlpack(const smd_value *value, DLManagedTensorVersioned **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    SMD_ASSIGN_OR_RETURN(*out, tensor::ToDlpack(value->value));
    return Status::Ok();
  });
}

smd_error *smd_value_strings(const smd_value *value, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    if (!value->value.strings) {
      return Unsupported(
          StrCat("the tensor contains ", tensor::DTypeName(value->value.dtype), ", not text"));
    }
    *out = new smd_strings{*value->value.strings};
    return Status::Ok();
  });
}

smd_error *smd_value_reduce(const smd_value *value, const char *reduction, int32_t absolute,
                            smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    SMD_ASSIGN_OR_RETURN(const tensor::Reduction wanted, ReductionFromC(reduction, absolute));
    return Give(tensor::Reducer(value->value.AsView()).Compute(wanted), out);
  });
}

smd_error *smd_value_to_double(const smd_value *value, double *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    SMD_ASSIGN_OR_RETURN(*out, tensor::ToDouble(value->value));
    return Status::Ok();
  });
}
