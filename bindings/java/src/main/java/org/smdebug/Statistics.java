package org.smdebug;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.smdebug.raw.RawConstants;

/**
 * Figures of a tensor of real numbers that the caller computed, for example on an accelerator. A
 * NaN element makes each figure NaN. The standard deviation and the other reductions follow from
 * the figures. For one thread.
 *
 * <pre>{@code
 * hook.saveStatistics(
 *     "w", new Statistics(DType.FLOAT32, 1024, 1024).set(Figure.MEAN, 0.5).set(Figure.L2, 3.0));
 * }</pre>
 */
public final class Statistics {
  final DType dtype;
  final long[] shape;
  final double[] figures = new double[Figure.values().length];
  final long[] counts = new long[3];
  int given;
  byte[] sample;

  /**
   * Describes a tensor of which no figure is known yet.
   *
   * @param dtype the type of its elements; not complex, not STRING
   * @param shape the size of each dimension; none: no dimension
   */
  public Statistics(DType dtype, long... shape) {
    this.dtype = Objects.requireNonNull(dtype);
    if (shape.length > RawConstants.SMD_MAX_RANK) {
      throw new IllegalArgumentException(
          "a tensor has at most " + RawConstants.SMD_MAX_RANK + " dimensions");
    }
    this.shape = shape.clone();
  }

  /**
   * Sets a figure.
   *
   * @param figure which one
   * @param value the number
   * @return this
   */
  public Statistics set(Figure figure, double value) {
    figures[figure.ordinal()] = value;
    given |= figure.bit();
    return this;
  }

  /**
   * Sets the counts of elements that are not finite or zero. Attached rules need them.
   *
   * @param nan the number of NaN elements
   * @param infinite the number of infinite elements
   * @param zero the number of zero elements
   * @return this
   */
  public Statistics counts(long nan, long infinite, long zero) {
    counts[0] = nan;
    counts[1] = infinite;
    counts[2] = zero;
    given |= RawConstants.SMD_HAS_COUNTS;
    return this;
  }

  /**
   * Sets elements of a FLOAT32 tensor, spread evenly, for rules that compare elements.
   *
   * @param elements the elements, which are copied
   * @return this
   */
  public Statistics sample(float[] elements) {
    require(DType.FLOAT32);
    ByteBuffer copy = bytes(elements.length * (long) Float.BYTES);
    copy.asFloatBuffer().put(elements);
    return sampleOf(copy);
  }

  /**
   * Sets elements of a FLOAT64 tensor, spread evenly, for rules that compare elements.
   *
   * @param elements the elements, which are copied
   * @return this
   */
  public Statistics sample(double[] elements) {
    require(DType.FLOAT64);
    ByteBuffer copy = bytes(elements.length * (long) Double.BYTES);
    copy.asDoubleBuffer().put(elements);
    return sampleOf(copy);
  }

  /**
   * Sets elements of a tensor, spread evenly, for rules that compare elements.
   *
   * @param elements the elements in the machine's byte order, between the buffer's position and its
   *     limit, which do not change; they are copied
   * @return this
   */
  public Statistics sample(ByteBuffer elements) {
    if (dtype.size() == 0 || elements.remaining() % dtype.size() != 0) {
      throw new IllegalArgumentException(
          elements.remaining() + " bytes are not a multiple of the size of " + dtype);
    }
    return sampleOf(bytes(elements.remaining()).put(elements.duplicate()));
  }

  private void require(DType expected) {
    if (dtype != expected) {
      throw new IllegalArgumentException("the sample is of " + expected + ", the tensor of " + dtype);
    }
  }

  private static ByteBuffer bytes(long size) {
    return ByteBuffer.allocate(Math.toIntExact(size)).order(ByteOrder.nativeOrder());
  }

  private Statistics sampleOf(ByteBuffer copy) {
    sample = copy.array();
    return this;
  }
}
