/* Statistics of a tensor that the caller computed. */
#ifndef SMDEBUG_STATISTICS_H
#define SMDEBUG_STATISTICS_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* The figures of smd_statistics, and the bits of its `given`. */
#define SMD_HAS_MIN 0x1
#define SMD_HAS_MAX 0x2
#define SMD_HAS_MEDIAN 0x4
#define SMD_HAS_MEAN 0x8
#define SMD_HAS_VARIANCE 0x10
#define SMD_HAS_SUM 0x20
#define SMD_HAS_PROD 0x40
#define SMD_HAS_L1 0x80
#define SMD_HAS_L2 0x100
#define SMD_HAS_ABS_MIN 0x200
#define SMD_HAS_ABS_MAX 0x400
#define SMD_HAS_ABS_MEDIAN 0x800
#define SMD_HAS_ABS_MEAN 0x1000
#define SMD_HAS_ABS_VARIANCE 0x2000
#define SMD_HAS_COUNTS 0x4000 /* nan_count, inf_count and zero_count */

/* Statistics of a tensor of real numbers, which the library borrows.  Initialize it with
 * SMD_STATISTICS_INIT, and set the bit of each figure that is known.  A NaN element makes
 * each figure NaN.  These follow from others: the standard deviation is the root of the
 * variance, the sum of the absolute values is l1, the product of the absolute values is
 * that of `prod`, abs_max is the larger one of |min| and |max|, and for unsigned integers
 * and bool each abs_ figure is the plain one. */
typedef struct smd_statistics {
  size_t struct_size;   /* sizeof(smd_statistics) at the caller */
  const int64_t *shape; /* ndim entries, each >= 0; NULL if ndim is 0 */
  int32_t ndim;         /* 0 (a scalar) to SMD_MAX_RANK */
  smd_dtype dtype;      /* of the tensor; not complex, not SMD_STRING */
  const void *sample;   /* elements of `dtype`, spread evenly, in row-major order; or NULL */
  int64_t sample_count; /* their number, at most that of the tensor */
  uint32_t given;       /* SMD_HAS_... */
  uint32_t reserved;    /* 0 */
  int64_t nan_count;
  int64_t inf_count;
  int64_t zero_count;
  double min, max, median, mean;
  double variance; /* ddof 0 */
  double sum, prod;
  double l1, l2; /* of all elements: the sum of the absolute values, the root of that of squares */
  double abs_min, abs_max, abs_median, abs_mean, abs_variance; /* of the absolute values */
} smd_statistics;
#define SMD_STATISTICS_INIT                                                                       \
  {                                                                                               \
    sizeof(smd_statistics), NULL, 0, SMD_DTYPE_INVALID, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0                                                                    \
  }

/* Saves the selected reductions and the shape of a tensor at the open step, as
 * smd_hook_save() does, from figures that the caller computed, for example on an
 * accelerator.  TensorBoard gets no histogram of it.
 *
 * Attached rules get the figures.  They get the statistics of the elements only if these
 * are given: the counts, variance, sum, l1, l2 and abs_max (or min and max); else they do
 * with the others, as with saved reductions.  Rules that compare elements take them from
 * `sample`; if it holds all of them, rules get what smd_hook_save() gives them.
 *
 * A reduction of integers that the dtype of such a reduction cannot hold, or beyond 2^53,
 * is saved as a double.  If this fails, nothing of the tensor is saved.
 *
 * Fails: INVALID_ARGUMENT (also if a selected reduction is not given: detail "reduction"),
 * WRONG_STATE (no step open), UNSUPPORTED (a collection selects the raw value; complex
 * numbers, text), AFTER_FORK, or the first unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_statistics(smd_hook *hook, const char *tensor,
                                      const smd_statistics *statistics) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: saves the mean of a vector that is on an accelerator.
 *
 *   smd_error *save_mean(smd_hook *hook, const char *tensor, int64_t elements, double mean) {
 *     smd_statistics figures = SMD_STATISTICS_INIT;
 *     figures.shape = &elements;
 *     figures.ndim = 1;
 *     figures.dtype = SMD_FLOAT32;
 *     figures.given = SMD_HAS_MEAN;
 *     figures.mean = mean;
 *     return smd_hook_save_statistics(hook, tensor, &figures);
 *   } */

#endif /* SMDEBUG_STATISTICS_H */
