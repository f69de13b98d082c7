package org.smdebug;

/** The step was not saved and never will be (STEP_UNAVAILABLE). */
public class StepUnavailableException extends DataUnavailableException {
  private static final long serialVersionUID = 1;

  StepUnavailableException(Facts facts) {
    super(facts);
  }
}
