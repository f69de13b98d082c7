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
   *
   * @throws IllegalStateException if the step was ended or discarded by other means
   */
  public void end() {
    if (!isOver) {
      isOver = true;
      if (hook.openStep() != globalStep) {
        throw new IllegalStateException("step " + globalStep + " is no longer open");
      }
      hook.endStep();
    }
  }

  /** Discards the step, unless it is over: ended, discarded, or recorded as its hook closed. */
  @Override
  public void close() {
    if (!isOver) {
      isOver = true;
      if (hook.openStep() == globalStep) {
        hook.discardStep();
      }
    }
  }
}
