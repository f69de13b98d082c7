package org.smdebug;

/** The step has not been recorded yet (STEP_NOT_YET). */
public class StepNotYetException extends SmdebugException {
  private static final long serialVersionUID = 1;

  StepNotYetException(Facts facts) {
    super(facts);
  }
}
