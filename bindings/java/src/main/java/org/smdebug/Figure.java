package org.smdebug;

/** One of the {@link Statistics} of a tensor: of its elements, or of their absolute values. */
public enum Figure {
  /** The smallest element. */
  MIN,
  /** The largest element. */
  MAX,
  /** The median. */
  MEDIAN,
  /** The mean. */
  MEAN,
  /** The variance with ddof 0. */
  VARIANCE,
  /** The sum. */
  SUM,
  /** The product. */
  PROD,
  /** The sum of the absolute values. */
  L1,
  /** The root of the sum of squares. */
  L2,
  /** The smallest absolute value. */
  ABS_MIN,
  /** The largest absolute value. */
  ABS_MAX,
  /** The median of the absolute values. */
  ABS_MEDIAN,
  /** The mean of the absolute values. */
  ABS_MEAN,
  /** The variance of the absolute values with ddof 0. */
  ABS_VARIANCE;

  // The C library's bits are in the same order.
  int bit() {
    return 1 << ordinal();
  }
}
