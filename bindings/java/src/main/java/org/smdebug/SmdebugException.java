package org.smdebug;

import java.io.Serializable;
import java.util.Map;

/**
 * An error of the library. Invalid arguments and calls in the wrong state throw {@link
 * IllegalArgumentException} and {@link IllegalStateException} instead, with this exception as their
 * cause.
 */
public class SmdebugException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The error, copied from the library. */
  private final Facts facts;

  SmdebugException(Facts facts) {
    super(facts.message());
    this.facts = facts;
  }

  /**
   * Returns the library's error in an exception: the exception itself, or its cause if the library
   * reported an invalid argument or state.
   *
   * @param exception any exception
   * @return the library's error, or null if the exception has none
   */
  public static SmdebugException of(Throwable exception) {
    if (exception instanceof SmdebugException error) {
      return error;
    }
    return exception.getCause() instanceof SmdebugException error ? error : null;
  }

  /**
   * Returns the kind of the error.
   *
   * @return the code
   */
  public ErrorCode code() {
    return facts.code();
  }

  /**
   * Returns a named fact about the error: "path", "step", "mode", "tensor", "worker", "collection",
   * "rule", "key", "expression", "offset", "size", "elements", "last_step",
   * "has_reductions", "device", "reduction" or "errno". Errors of a network or a service may also
   * have "cause", "http_status", "s3_code", "sts_code", "sso", "region" and "request_id".
   *
   * @param key its name
   * @return the fact, or null if the error lacks it
   */
  public String detail(String key) {
    return facts.details().get(key);
  }

  /**
   * Returns true if the same call may succeed later without a change by the caller.
   *
   * @return true if it may
   */
  public boolean isRetryable() {
    return facts.isRetryable();
  }

  /** An error copied from the library. */
  record Facts(ErrorCode code, String message, boolean isRetryable, Map<String, String> details)
      implements Serializable {
    private static final long serialVersionUID = 1;
  }
}
