package org.smdebug;

/** Whether a step is there. */
public enum StepState {
  /** It was not saved, and never will be. */
  UNAVAILABLE,
  /** It is there. */
  AVAILABLE,
  /** It may still come. */
  NOT_YET
}
