package org.smdebug;

/** {@link Trial#cancel()} or an interrupt of the thread ended a wait (CANCELLED). */
public class CancelledException extends SmdebugException {
  private static final long serialVersionUID = 1;

  CancelledException(Facts facts) {
    super(facts);
  }
}
