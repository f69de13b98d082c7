package org.smdebug;

/** A wait was ended by {@link Trial#cancel()}, or by interrupting the thread (CANCELLED). */
public class CancelledException extends SmdebugException {
  private static final long serialVersionUID = 1;

  CancelledException(Facts facts) {
    super(facts);
  }
}
