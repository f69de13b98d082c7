package org.smdebug;

/** The requested data was not saved. If a rule throws this, the step is skipped. */
public class DataUnavailableException extends SmdebugException {
  private static final long serialVersionUID = 1;

  DataUnavailableException(Facts facts) {
    super(facts);
  }
}
