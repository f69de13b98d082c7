/* Tensors of which several workers hold a part each. */
#ifndef SMDEBUG_PLACEMENT_H
#define SMDEBUG_PLACEMENT_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Which part of a tensor a worker holds.  Initialize it with SMD_PLACEMENT_INIT.  The part
 * is a block: it begins at `offset`, an index a dimension, and has the shape `part`.  If
 * `is_flat` is not 0, the part is a range of the elements in row-major order: `offset` and
 * `part` then point to one number each.
 *
 * The mesh tells people how the workers are arranged, and no function here needs it. */
typedef struct smd_placement {
  size_t struct_size;    /* sizeof(smd_placement) at the caller */
  const int64_t *shape;  /* of the whole: ndim numbers; NULL if ndim is 0 */
  const int64_t *offset; /* ndim numbers, or one */
  const int64_t *part;   /* ndim numbers, or one */
  int32_t ndim;          /* 0 (a scalar) to SMD_MAX_RANK */
  int32_t is_flat;
  const int64_t *mesh;  /* workers in each dimension of the mesh: mesh_ndim numbers, or NULL */
  const int64_t *split; /* for each, the dimension of the tensor that it splits; -1: it repeats */
  int32_t mesh_ndim;    /* 0 to SMD_MAX_RANK */
  int32_t reserved;     /* 0 */
} smd_placement;
#define SMD_PLACEMENT_INIT \
  { sizeof(smd_placement), NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0 }

/* Records which part of a tensor this worker saves, for readers.  Copies the placement into
 * the worker's collections file (docs/formats.md), which is written with the next step that
 * is recorded.  An earlier placement of the tensor is replaced.
 *
 * Fails: INVALID_ARGUMENT (also if the part is not inside the whole), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_set_placement(smd_hook *hook, const char *tensor,
                                    const smd_placement *placement) SMD_NOEXCEPT;

/* Returns which part of the tensor a worker holds, or NULL if the worker recorded no
 * placement.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_placement *smd_tensor_placement(smd_tensor *tensor,
                                                  const char *worker) SMD_NOEXCEPT;

/* The functions below put together what all workers saved at a step.  Parts that several
 * workers hold count once.  A tensor without placements is the whole of each worker, and
 * must be the same for all. */

/* Returns the shape of the whole.
 *
 * Fails: WRONG_STATE (the workers' parts are not a whole, or differ), and as
 * smd_tensor_shape().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_full_shape(smd_tensor *tensor, int64_t step, smd_mode mode,
                                   smd_integers **out) SMD_NOEXCEPT;

/* Returns the elements of the whole.
 *
 * Fails: WRONG_STATE (the workers' parts are not a whole, or differ), and as
 * smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_full_value(smd_tensor *tensor, int64_t step, smd_mode mode,
                                   smd_value **out) SMD_NOEXCEPT;

/* Returns a reduction of the whole: computed from the elements if they were saved, else
 * merged from the reductions of the parts.  min, max, sum, prod, mean, l1 and l2 are merged
 * from the same reductions; variance and std from the mean and either of the two.  No
 * median can be merged.  min and max keep their dtype, totals of integers wrap around as
 * int64 or uint64, and the others are float64.  `reduction` and `absolute` are as for
 * smd_value_reduce().
 *
 * Fails: INVALID_ARGUMENT (unknown name), UNSUPPORTED, WRONG_STATE (the workers' parts are
 * not a whole, or differ, or lack reductions, which the message names), and as
 * smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_full_reduction(smd_tensor *tensor, int64_t step, smd_mode mode,
                                       const char *reduction, int32_t absolute,
                                       smd_value **out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: says that this worker holds the second half of a matrix of 8 rows.
 *
 *   smd_error *place_half(smd_hook *hook) {
 *     const int64_t shape[] = {8, 3}, offset[] = {4, 0}, part[] = {4, 3};
 *     smd_placement half = SMD_PLACEMENT_INIT;
 *     half.shape = shape;
 *     half.offset = offset;
 *     half.part = part;
 *     half.ndim = 2;
 *     return smd_hook_set_placement(hook, "weight", &half);
 *   } */

#endif /* SMDEBUG_PLACEMENT_H */
