package org.smdebug;

import org.smdebug.raw.RawConstants;

/** What a step saves and evaluates of a tensor that it expects; see {@link Hook#expect}. */
public final class ExpectedParts {
  private final int bits;

  ExpectedParts(int bits) {
    this.bits = bits;
  }

  /**
   * Returns true if the step neither saves nor evaluates the tensor. It must not be sent then.
   *
   * @return true if nothing is selected
   */
  public boolean isEmpty() {
    return bits == 0;
  }

  /**
   * Returns true if the tensor's value is saved.
   *
   * @return true if it is
   */
  public boolean hasValue() {
    return (bits & RawConstants.SMD_WANTS_VALUE) != 0;
  }

  /**
   * Returns true if the tensor's shape is saved.
   *
   * @return true if it is
   */
  public boolean hasShape() {
    return (bits & RawConstants.SMD_WANTS_SHAPE) != 0;
  }

  /**
   * Returns true if attached rules evaluate the tensor; see {@link Hook#saveStatistics}.
   *
   * @return true if they do
   */
  public boolean hasStatistics() {
    return (bits & RawConstants.SMD_WANTS_STATISTICS) != 0;
  }

  /**
   * Returns true if a figure is saved, or a reduction that follows from it.
   *
   * @param figure the figure
   * @return true if it is
   */
  public boolean has(Figure figure) {
    return (bits & figure.bit()) != 0;
  }
}
