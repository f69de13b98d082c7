package org.smdebug;

/** The availability of a step. */
public enum StepState {
  /** The step was not saved and never will be. */
  UNAVAILABLE,
  /** The step is available. */
  AVAILABLE,
  /** The job may still save the step. */
  NOT_YET
}
