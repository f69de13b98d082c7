package org.smdebug;

/** The step was not seen so far; it may come (STEP_NOT_YET). */
public class StepNotYetException extends SmdebugException {
  private static final long serialVersionUID = 1;

  StepNotYetException(Facts facts) {
    super(facts);
  }
}
