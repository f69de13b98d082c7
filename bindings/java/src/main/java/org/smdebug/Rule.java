package org.smdebug;

/** A question asked of a trial at one step after another; see {@link Trial#findings(Rule)}. */
@FunctionalInterface
public interface Rule {
  /**
   * Judges a step.
   *
   * @param trial the trial, which does not change meanwhile
   * @param step a global step
   * @return whether the rule's condition holds
   */
  boolean invokeAtStep(Trial trial, long step);
}
