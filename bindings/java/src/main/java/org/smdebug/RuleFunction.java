package org.smdebug;

/** A rule that you write; {@link RuleSet#add(String, RuleFunction, Action)} takes it. */
@FunctionalInterface
public interface RuleFunction {
  /**
   * Evaluates a step, and reports what it finds there. Runs on the thread that evaluates. It may
   * use any trial, hook or rule set. While it runs, its own rule set cannot be changed or
   * evaluated; if it closes that, the evaluation fails before the next step.
   *
   * <p>If it throws a {@link DataUnavailableException}, the step is skipped. Anything else that it
   * throws ends the evaluation, which throws the same object.
   *
   * @param step the step, valid until the function returns
   */
  void invoke(RuleStep step);
}
