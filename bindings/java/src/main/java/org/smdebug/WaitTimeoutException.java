package org.smdebug;

/**
 * The time given to a wait is over (TIMEOUT). A server that does not answer in time is a {@link
 * StorageException} instead.
 */
public class WaitTimeoutException extends SmdebugException {
  private static final long serialVersionUID = 1;

  WaitTimeoutException(Facts facts) {
    super(facts);
  }
}
