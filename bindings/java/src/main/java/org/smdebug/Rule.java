package org.smdebug;

/** A condition that is evaluated at each step of a trial; see {@link Trial#findings(Rule)}. */
@FunctionalInterface
public interface Rule {
  /**
   * Evaluates a step.
   *
   * @param trial the trial, which does not change during the call
   * @param step a global step
   * @return true if the rule's condition holds
   */
  boolean invokeAtStep(Trial trial, long step);
}
