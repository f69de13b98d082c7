package org.smdebug;

import java.util.Locale;

/** One number computed over all elements of a tensor. */
public enum Reduction {
  /** The smallest element. */
  MIN,
  /** The largest element. */
  MAX,
  /** The middle of the sorted elements. */
  MEDIAN,
  /** The arithmetic mean. */
  MEAN,
  /** The standard deviation (ddof 0). */
  STD,
  /** The variance (ddof 0). */
  VARIANCE,
  /** The sum. */
  SUM,
  /** The product. */
  PROD,
  /** The sum of the absolute values. */
  L1,
  /** The root of the sum of squares. */
  L2;

  String key() {
    return name().toLowerCase(Locale.ROOT);
  }
}
