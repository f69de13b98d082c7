package org.smdebug;

import org.smdebug.raw.RawConstants;

/** The kind of an error. Programs decide by the code, never by the message. */
public enum ErrorCode {
  /** No error. */
  OK(RawConstants.SMD_OK),
  /** An argument is invalid. */
  INVALID_ARGUMENT(RawConstants.SMD_INVALID_ARGUMENT),
  /** A setting, a regular expression or JSON is invalid. */
  INVALID_CONFIG(RawConstants.SMD_INVALID_CONFIG),
  /** The call is not allowed in this state. */
  WRONG_STATE(RawConstants.SMD_WRONG_STATE),
  /** The loaded library is older than this package. */
  ABI_MISMATCH(RawConstants.SMD_ABI_MISMATCH),
  /** This library, or this build of it, does not support the request. */
  UNSUPPORTED(RawConstants.SMD_UNSUPPORTED),
  /** The object belongs to the process that forked this one. */
  AFTER_FORK(RawConstants.SMD_AFTER_FORK),
  /** The path already holds a finished trial. */
  TRIAL_EXISTS(RawConstants.SMD_TRIAL_EXISTS),
  /** The step was not saved and never will be. */
  STEP_UNAVAILABLE(RawConstants.SMD_STEP_UNAVAILABLE),
  /** The step has not been recorded yet. */
  STEP_NOT_YET(RawConstants.SMD_STEP_NOT_YET),
  /** The job has ended before this step. */
  NO_MORE_DATA(RawConstants.SMD_NO_MORE_DATA),
  /** No tensor with this name has been saved. */
  TENSOR_UNAVAILABLE(RawConstants.SMD_TENSOR_UNAVAILABLE),
  /** The tensor was not saved, or not raw, at this step. */
  VALUE_UNAVAILABLE(RawConstants.SMD_VALUE_UNAVAILABLE),
  /** No worker with this name saved the tensor at this step. */
  WORKER_UNKNOWN(RawConstants.SMD_WORKER_UNKNOWN),
  /** There are no collections files: nothing was recorded. */
  MISSING_COLLECTIONS(RawConstants.SMD_MISSING_COLLECTIONS),
  /** A file is damaged or has unexpected content. */
  CORRUPT_DATA(RawConstants.SMD_CORRUPT_DATA),
  /** Neither shape nor value was saved at this step. */
  SHAPE_UNAVAILABLE(RawConstants.SMD_SHAPE_UNAVAILABLE),
  /** A file or disk failed. */
  IO(RawConstants.SMD_IO),
  /** There is no such file. */
  NOT_FOUND(RawConstants.SMD_NOT_FOUND),
  /** The file cannot be read or written: permission is denied. */
  PERMISSION(RawConstants.SMD_PERMISSION),
  /** A server cannot be reached, or it closed the connection. */
  NETWORK(RawConstants.SMD_NETWORK),
  /** No credentials were found, or a source of them failed. */
  CREDENTIALS(RawConstants.SMD_CREDENTIALS),
  /** The time limit of a wait or of a server request has passed. */
  TIMEOUT(RawConstants.SMD_TIMEOUT),
  /** The wait was cancelled. */
  CANCELLED(RawConstants.SMD_CANCELLED),
  /** The system has no memory left. */
  OUT_OF_MEMORY(RawConstants.SMD_OUT_OF_MEMORY),
  /** The policy of the full queue dropped a step. */
  STEP_DROPPED(RawConstants.SMD_STEP_DROPPED),
  /** The disk is full. */
  NO_SPACE(RawConstants.SMD_NO_SPACE),
  /** The TLS handshake failed, or the server's certificate was refused. */
  TLS(RawConstants.SMD_TLS),
  /** The access key is unknown, or the secret is wrong. */
  CREDENTIALS_REFUSED(RawConstants.SMD_CREDENTIALS_REFUSED),
  /** The session token is no longer valid. */
  CREDENTIALS_EXPIRED(RawConstants.SMD_CREDENTIALS_EXPIRED),
  /** This machine's clock is wrong by minutes. */
  CLOCK_SKEWED(RawConstants.SMD_CLOCK_SKEWED),
  /** The bucket lies in another region. */
  WRONG_REGION(RawConstants.SMD_WRONG_REGION),
  /** There is no bucket with this name. */
  BUCKET_NOT_FOUND(RawConstants.SMD_BUCKET_NOT_FOUND),
  /** The service asks for fewer requests. */
  THROTTLED(RawConstants.SMD_THROTTLED),
  /** A function of the caller failed. */
  CALLBACK_FAILED(RawConstants.SMD_CALLBACK_FAILED),
  /** A bug in this library. */
  INTERNAL(RawConstants.SMD_INTERNAL),
  /** A rule's finding, returned as an error on request. */
  RULE_CONDITION_MET(RawConstants.SMD_RULE_CONDITION_MET);

  private final int number;

  ErrorCode(int number) {
    this.number = number;
  }

  /**
   * Returns the number of the code in the C interface.
   *
   * @return the number, which never changes
   */
  public int number() {
    return number;
  }

  static ErrorCode of(int number) {
    for (ErrorCode code : values()) {
      if (code.number == number) {
        return code;
      }
    }
    return INTERNAL;
  }
}
