package org.smdebug;

/**
 * An open step of a hook, as a scope; see {@link Hook#step(Mode)}. A step is recorded completely or
 * not at all: {@link #end} records it, and leaving the scope without that discards it. {@code
 * close} cannot record the step, because it cannot tell an exception from a normal end.
 */
public final class Step implements AutoCloseable {
  private final Hook hook;
  private final long globalStep;
  private boolean isOver;

  Step(Hook hook, long globalStep) {
    this.hook = hook;
    this.globalStep = globalStep;
  }

  /**
   * Returns the step's global number.
   *
   * @return its number among the steps of all modes
   */
  public long globalStep() {
    return globalStep;
  }

  /**
   * Ends the step. Soon afterwards, readers see everything it saved at once. A second call does
   * nothing.
   */
  public void end() {
    if (!isOver) {
      isOver = true;
      hook.endStep();
    }
  }

  /** Discards the step, unless it was ended. */
  @Override
  public void close() {
    if (!isOver) {
      isOver = true;
      hook.discardStep();
    }
  }
}
