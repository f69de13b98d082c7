/* Views of tensors in the caller's memory, and values that the library returns. */
#ifndef SMDEBUG_TENSOR_H
#define SMDEBUG_TENSOR_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

#define SMD_MAX_RANK 32

/* A view of a tensor in host memory, which the library borrows.  Initialize it with
 * SMD_TENSOR_VIEW_INIT.  Elements are in the byte order of the machine.  An element
 * of SMD_STRING is a `const char *` to NUL-terminated UTF-8. */
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

/* Defined by the dlpack.h of DLPack 1.x. */
struct DLManagedTensorVersioned;

/* Returns the element type; SMD_DTYPE_INVALID for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_dtype smd_value_dtype(const smd_value *value) SMD_NOEXCEPT;

/* Returns the number of dimensions; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_value_ndim(const smd_value *value) SMD_NOEXCEPT;

/* Returns the size of each dimension; NULL for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const int64_t *smd_value_shape(const smd_value *value) SMD_NOEXCEPT;

/* Returns the elements, compact in row-major order, aligned to 64 bytes.  NULL if
 * there are none, and for strings.  Borrowed; they must not be changed.
 * Thread: any.   Since: 1.0 */
SMD_API const void *smd_value_data(const smd_value *value) SMD_NOEXCEPT;

/* Returns the number of bytes at smd_value_data().
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_value_nbytes(const smd_value *value) SMD_NOEXCEPT;

/* Returns another handle on the same elements; NULL for NULL, or if memory runs out.
 * Thread: any.   Since: 1.0 */
SMD_API smd_value *smd_value_retain(const smd_value *value) SMD_NOEXCEPT;

/* Frees a handle; the last one frees the elements.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_value_free(smd_value *value) SMD_NOEXCEPT;

/* Makes a read-only DLPack tensor of the elements, without a copy.  The tensor keeps
 * them alive; the receiver calls its deleter once.
 *
 * Fails: INVALID_ARGUMENT, UNSUPPORTED (strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_to_dlpack(const smd_value *value,
                                 struct DLManagedTensorVersioned **out) SMD_NOEXCEPT;

/* Returns the elements of a string tensor, in row-major order.
 *
 * Fails: INVALID_ARGUMENT, UNSUPPORTED (not strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_strings(const smd_value *value, smd_strings **out) SMD_NOEXCEPT;

/* Computes one reduction over all elements: "min", "max", "median", "mean",
 * "std", "variance" (both with ddof 0), "sum", "prod", "l1" or "l2"
 * (entry-wise).  If `absolute` is not 0, reduces their absolute values.  The result
 * has no dimensions and the dtype that NumPy gives this reduction.
 *
 * Fails: INVALID_ARGUMENT (unknown name, no elements to compare), UNSUPPORTED
 * (strings; the median of complex numbers).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_reduce(const smd_value *value, const char *reduction, int32_t absolute,
                              smd_value **out) SMD_NOEXCEPT;

/* Returns the only element as a double (the real part of a complex number).
 *
 * Fails: INVALID_ARGUMENT (not exactly one element), UNSUPPORTED (strings).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_value_to_double(const smd_value *value, double *out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: returns the first element of a tensor of floats, or 0.
 *
 *   float first_element(const smd_value *value) {
 *     if (smd_value_dtype(value) != SMD_FLOAT32 || smd_value_nbytes(value) == 0) return 0;
 *     return ((const float *)smd_value_data(value))[0];
 *   } */

#endif /* SMDEBUG_TENSOR_H */
