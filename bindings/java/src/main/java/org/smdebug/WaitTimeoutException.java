package org.smdebug;

/**
 * The time limit of a wait has passed (TIMEOUT). A server that does not answer in time causes a
 * {@link StorageException} instead.
 */
public class WaitTimeoutException extends SmdebugException {
  private static final long serialVersionUID = 1;

  WaitTimeoutException(Facts facts) {
    super(facts);
  }
}
