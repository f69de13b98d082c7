package org.smdebug;

/** What was asked for was not saved. A rule that throws this skips the step. */
public class DataUnavailableException extends SmdebugException {
  private static final long serialVersionUID = 1;

  DataUnavailableException(Facts facts) {
    super(facts);
  }
}
