package org.smdebug;

import java.util.List;
import org.smdebug.raw.Raw;

/**
 * Saves expected tensors of a step, which may have ended; see {@link Hook#expect}. Saving a tensor
 * that the step does not wait for throws an IllegalStateException. Safe for use by several threads.
 */
public final class LateStep extends TensorSink {
  private final Hook hook;
  private final long globalStep;

  LateStep(Hook hook, long globalStep) {
    super(INTO_LATE_STEP);
    this.hook = hook;
    this.globalStep = globalStep;
  }

  /**
   * Saves the figures of an expected tensor as {@link Hook#saveStatistics}.
   *
   * @param name its name
   * @param statistics the figures
   */
  public void saveStatistics(String name, Statistics statistics) {
    saveStatistics(name, statistics, true, globalStep);
  }

  /**
   * Gives up an expected tensor: the step is recorded without it.
   *
   * @param name its name
   */
  public void forgo(String name) {
    hook.handle().run(address -> Raw.smd_hook_forgo(address, name, globalStep));
  }

  @Override
  Hook hook() {
    return hook;
  }

  @Override
  List<String> collections() {
    return null;
  }

  @Override
  long context() {
    return globalStep;
  }
}
