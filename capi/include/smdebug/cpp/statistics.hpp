// Statistics of a tensor that the caller computed, see smdebug/statistics.h.
#ifndef SMDEBUG_CPP_STATISTICS_HPP
#define SMDEBUG_CPP_STATISTICS_HPP

#include <cstdint>
#include <optional>

#include "smdebug/cpp/types.hpp"
#include "smdebug/cpp/view.hpp"
#include "smdebug/statistics.h"

namespace smdebug {

// The figures that are known.
struct Statistics {
  struct Counts {
    int64_t nan;
    int64_t inf;
    int64_t zero;
  };

  Statistics(DType of_type, const Shape &of_shape) : dtype(of_type), shape(of_shape) {}

  DType dtype;
  Shape shape;
  std::optional<Counts> counts;
  std::optional<double> min, max, median, mean, variance, sum, prod, l1, l2;
  std::optional<double> abs_min, abs_max, abs_median, abs_mean, abs_variance;
  const void *sample = nullptr;  // elements of `dtype`, spread evenly
  int64_t sample_count = 0;

  // For the C interface; valid while this exists.
  smd_statistics ToC() const noexcept {
    smd_statistics out = SMD_STATISTICS_INIT;
    out.shape = shape.Data();
    out.ndim = shape.Rank();
    out.dtype = static_cast<smd_dtype>(dtype);
    out.sample = sample;
    out.sample_count = sample_count;
    const auto add = [&out](const std::optional<double> &figure, uint32_t bit, double *to) {
      if (!figure) return;
      *to = *figure;
      out.given |= bit;
    };
    add(min, SMD_HAS_MIN, &out.min);
    add(max, SMD_HAS_MAX, &out.max);
    add(median, SMD_HAS_MEDIAN, &out.median);
    add(mean, SMD_HAS_MEAN, &out.mean);
    add(variance, SMD_HAS_VARIANCE, &out.variance);
    add(sum, SMD_HAS_SUM, &out.sum);
    add(prod, SMD_HAS_PROD, &out.prod);
    add(l1, SMD_HAS_L1, &out.l1);
    add(l2, SMD_HAS_L2, &out.l2);
    add(abs_min, SMD_HAS_ABS_MIN, &out.abs_min);
    add(abs_max, SMD_HAS_ABS_MAX, &out.abs_max);
    add(abs_median, SMD_HAS_ABS_MEDIAN, &out.abs_median);
    add(abs_mean, SMD_HAS_ABS_MEAN, &out.abs_mean);
    add(abs_variance, SMD_HAS_ABS_VARIANCE, &out.abs_variance);
    if (counts) {
      out.given |= SMD_HAS_COUNTS;
      out.nan_count = counts->nan;
      out.inf_count = counts->inf;
      out.zero_count = counts->zero;
    }
    return out;
  }
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_STATISTICS_HPP
