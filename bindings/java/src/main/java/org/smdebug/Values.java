package org.smdebug;

import java.util.Objects;
import org.smdebug.raw.Raw;

/**
 * A tensor at several steps, read in one call: close it. Values that were taken out of it stay
 * valid. Safe for use by several threads.
 */
public final class Values implements AutoCloseable {
  private final Handle handle;
  private final int size;

  /** Takes ownership of a handle. */
  Values(long address) {
    handle = new Handle(this, "the list of values", address, Raw::smd_values_free);
    size = Math.toIntExact(Raw.smd_values_count(address));
  }

  /**
   * Returns the number of steps.
   *
   * @return the number
   */
  public int size() {
    return size;
  }

  /**
   * Returns a step.
   *
   * @param index the index of the step, from 0; steps ascend
   * @return the step
   * @throws IndexOutOfBoundsException if there is no such index
   */
  public long step(int index) {
    Objects.checkIndex(index, size);
    return handle.number(values -> Raw.smd_values_step(values, index));
  }

  /**
   * Returns the value at a step. A step that could not be read throws here, and does not affect the
   * others.
   *
   * @param index the index of the step, from 0
   * @return the value; close it
   * @throws IndexOutOfBoundsException if there is no such index
   * @throws SmdebugException as {@link Tensor#value(long, Mode, String)} does at that step
   */
  public Value value(int index) {
    Objects.checkIndex(index, size);
    return handle.get(values -> new Value(Raw.smd_values_get(values, index)));
  }

  /** Frees the list. A second call does nothing. */
  @Override
  public void close() {
    handle.close();
  }

  @Override
  public String toString() {
    return "Values(" + size + " steps)";
  }
}
