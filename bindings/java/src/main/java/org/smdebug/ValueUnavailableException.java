package org.smdebug;

/** The tensor was not saved at this step, or only its reductions (VALUE_UNAVAILABLE). */
public class ValueUnavailableException extends DataUnavailableException {
  private static final long serialVersionUID = 1;

  ValueUnavailableException(Facts facts) {
    super(facts);
  }
}
