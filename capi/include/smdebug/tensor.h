/* Tensors lent to the library, and values it hands out. */
#ifndef SMDEBUG_TENSOR_H
#define SMDEBUG_TENSOR_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

#define SMD_MAX_RANK 32

/* A borrowed tensor in host memory.  Fill it with SMD_TENSOR_VIEW_INIT.
 * Elements are in the machine's byte order; for SMD_STRING each is a
 * `const char *` to NUL-terminated UTF-8. */
typedef struct smd_tensor_view {
  size_t struct_size;     /* sizeof(smd_tensor_view) at the caller */
  const void *data;       /* may be NULL if there are no elements */
  const int64_t *shape;   /* ndim entries, each >= 0; NULL if ndim is 0 */
  const int64_t *strides; /* in elements, may be negative; NULL: row-major, compact */
  int32_t ndim;           /* 0 (a scalar) to SMD_MAX_RANK */
  smd_dtype dtype;
} smd_tensor_view;
#define SMD_TENSOR_VIEW_INIT \
  { sizeof(smd_tensor_view), NULL, NULL, NULL, 0, SMD_DTYPE_INVALID }

/* DLPack 1.x, as the dlpack.h of that version defines it. */
struct DLManagedTensorVersioned;

/* The element type; SMD_DTYPE_INVALID for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_dtype smd_value_dtype(const smd_value *value) SMD_NOEXCEPT;

/* The number of dimensions; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_value_ndim(const smd_value *value) SMD_NOEXCEPT;

/* The size of each dimension.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const int64_t *smd_value_shape(const smd_value *value) SMD_NOEXCEPT;

/* The elements, compact in row-major order, aligned to 64 bytes.  NULL if there
 * are none, and for strings.  Borrowed; nobody may change them.
 * Thread: any.   Since: 1.0 */
SMD_API const void *smd_value_data(const smd_value *value) SMD_NOEXCEPT;

/* Bytes at smd_value_data().
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_value_nbytes(const smd_value *value) SMD_NOEXCEPT;

/* Another handle on the same elements; NULL for NULL or without memory.
 * Thread: any.   Since: 1.0 */
SMD_API smd_value *smd_value_retain(const smd_value *value) SMD_NOEXCEPT;

/* Frees a handle; the elements go with the last one.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_value_free(smd_value *value) SMD_NOEXCEPT;

/* Lends the elements as a read-only DLPack tensor, without a copy.  The tensor
 * keeps them alive; its deleter is the receiver's to call, once.
 *
 * Fails: INVALID_ARGUMENT, UNSUPPORTED (strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_to_dlpack(const smd_value *value,
                                 struct DLManagedTensorVersioned **out) SMD_NOEXCEPT;

/* The elements of a string tensor in row-major order.
 *
 * Fails: INVALID_ARGUMENT, UNSUPPORTED (not strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_strings(const smd_value *value, smd_strings **out) SMD_NOEXCEPT;

/* Computes one reduction over all elements: "min", "max", "median", "mean",
 * "std", "variance" (both with ddof 0), "sum", "prod", "l1" or "l2"
 * (entry-wise); with `absolute` not 0, of the absolute values.  The result has
 * no dimensions and the dtype NumPy gives that reduction.
 *
 * Fails: INVALID_ARGUMENT (unknown name, no elements to compare), UNSUPPORTED
 * (strings; the median of complex numbers).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_reduce(const smd_value *value, const char *reduction, int32_t absolute,
                              smd_value **out) SMD_NOEXCEPT;

/* The one element as a double (a complex number's real part).
 *
 * Fails: INVALID_ARGUMENT (not exactly one element), UNSUPPORTED (strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_to_double(const smd_value *value, double *out) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_TENSOR_H */
