package org.smdebug;

/** The path already holds a finished trial (TRIAL_EXISTS). */
public class TrialExistsException extends SmdebugException {
  private static final long serialVersionUID = 1;

  TrialExistsException(Facts facts) {
    super(facts);
  }
}
