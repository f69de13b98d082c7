package org.smdebug;

/** A finished trial lies where one was to be recorded (TRIAL_EXISTS). */
public class TrialExistsException extends SmdebugException {
  private static final long serialVersionUID = 1;

  TrialExistsException(Facts facts) {
    super(facts);
  }
}
