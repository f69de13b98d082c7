package org.smdebug;

import java.io.Serializable;
import java.util.Map;

/**
 * What the library could not do. Wrong arguments and calls at the wrong moment are not this but
 * {@link IllegalArgumentException} and {@link IllegalStateException}, with this as their cause.
 */
public class SmdebugException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The error, copied out of the library. */
  private final Facts facts;

  SmdebugException(Facts facts) {
    super(facts.message());
    this.facts = facts;
  }

  /**
   * What the library said of an exception: itself, or its cause where the library found an argument
   * or a moment wrong.
   *
   * @param exception any exception
   * @return the library's error, or null if it is not one of these
   */
  public static SmdebugException of(Throwable exception) {
    if (exception instanceof SmdebugException error) {
      return error;
    }
    return exception.getCause() instanceof SmdebugException error ? error : null;
  }

  /**
   * What kind of error it is.
   *
   * @return the code
   */
  public ErrorCode code() {
    return facts.code();
  }

  /**
   * A named fact about the error: "path", "step", "mode", "tensor", "worker", "collection", "rule",
   * "last_step", "errno"; of a network or a service "cause", "http_status", "s3_code", "region",
   * "request_id".
   *
   * @param key its name
   * @return the fact, or null if the error has none of that name
   */
  public String detail(String key) {
    return facts.details().get(key);
  }

  /**
   * Whether the same call may succeed later without the caller changing anything.
   *
   * @return true if so
   */
  public boolean isRetryable() {
    return facts.isRetryable();
  }

  /** An error of the library, copied out of it. */
  record Facts(ErrorCode code, String message, boolean isRetryable, Map<String, String> details)
      implements Serializable {
    private static final long serialVersionUID = 1;
  }
}
