package org.smdebug;

import org.smdebug.raw.RawConstants;

/** What kind of error it is. Programs decide by this, never by a message. */
public enum ErrorCode {
  /** No error. */
  OK(RawConstants.SMD_OK),
  /** A wrong number or name. */
  INVALID_ARGUMENT(RawConstants.SMD_INVALID_ARGUMENT),
  /** A setting, a regular expression or JSON that makes no sense. */
  INVALID_CONFIG(RawConstants.SMD_INVALID_CONFIG),
  /** The call does not fit the moment. */
  WRONG_STATE(RawConstants.SMD_WRONG_STATE),
  /** The loaded library is older than this package. */
  ABI_MISMATCH(RawConstants.SMD_ABI_MISMATCH),
  /** Not done by this library, or this build of it. */
  UNSUPPORTED(RawConstants.SMD_UNSUPPORTED),
  /** The object belongs to the process that forked this one. */
  AFTER_FORK(RawConstants.SMD_AFTER_FORK),
  /** A finished trial lies in the folder. */
  TRIAL_EXISTS(RawConstants.SMD_TRIAL_EXISTS),
  /** The step was not saved and never will be. */
  STEP_UNAVAILABLE(RawConstants.SMD_STEP_UNAVAILABLE),
  /** The step was not seen yet; it may come. */
  STEP_NOT_YET(RawConstants.SMD_STEP_NOT_YET),
  /** The job has ended before this step. */
  NO_MORE_DATA(RawConstants.SMD_NO_MORE_DATA),
  /** No tensor of this name was saved so far. */
  TENSOR_UNAVAILABLE(RawConstants.SMD_TENSOR_UNAVAILABLE),
  /** Not saved, or not raw, at this step. */
  VALUE_UNAVAILABLE(RawConstants.SMD_VALUE_UNAVAILABLE),
  /** No worker of this name saved it there. */
  WORKER_UNKNOWN(RawConstants.SMD_WORKER_UNKNOWN),
  /** No collection files: nothing was recorded. */
  MISSING_COLLECTIONS(RawConstants.SMD_MISSING_COLLECTIONS),
  /** A file does not hold what it should. */
  CORRUPT_DATA(RawConstants.SMD_CORRUPT_DATA),
  /** Neither shape nor value was saved at this step. */
  SHAPE_UNAVAILABLE(RawConstants.SMD_SHAPE_UNAVAILABLE),
  /** A file or disk failed. */
  IO(RawConstants.SMD_IO),
  /** There is no such file. */
  NOT_FOUND(RawConstants.SMD_NOT_FOUND),
  /** The file may not be read or written. */
  PERMISSION(RawConstants.SMD_PERMISSION),
  /** A server cannot be reached, or cut the connection. */
  NETWORK(RawConstants.SMD_NETWORK),
  /** No credentials were found, or a source of them failed. */
  CREDENTIALS(RawConstants.SMD_CREDENTIALS),
  /** The time given to a wait, or to a server, is over. */
  TIMEOUT(RawConstants.SMD_TIMEOUT),
  /** The wait was cancelled. */
  CANCELLED(RawConstants.SMD_CANCELLED),
  /** The system has no memory left. */
  OUT_OF_MEMORY(RawConstants.SMD_OUT_OF_MEMORY),
  /** A step was given up, as the policy of the queue says. */
  STEP_DROPPED(RawConstants.SMD_STEP_DROPPED),
  /** The disk is full. */
  NO_SPACE(RawConstants.SMD_NO_SPACE),
  /** A server's certificate, or the handshake, was refused. */
  TLS(RawConstants.SMD_TLS),
  /** The access key is unknown, or the secret is wrong. */
  CREDENTIALS_REFUSED(RawConstants.SMD_CREDENTIALS_REFUSED),
  /** The session token is no longer valid. */
  CREDENTIALS_EXPIRED(RawConstants.SMD_CREDENTIALS_EXPIRED),
  /** This machine's clock is wrong by minutes. */
  CLOCK_SKEWED(RawConstants.SMD_CLOCK_SKEWED),
  /** The bucket lies in another region. */
  WRONG_REGION(RawConstants.SMD_WRONG_REGION),
  /** There is no bucket of this name. */
  BUCKET_NOT_FOUND(RawConstants.SMD_BUCKET_NOT_FOUND),
  /** The service asks for fewer requests. */
  THROTTLED(RawConstants.SMD_THROTTLED),
  /** A function of the caller failed. */
  CALLBACK_FAILED(RawConstants.SMD_CALLBACK_FAILED),
  /** A fault in this library. */
  INTERNAL(RawConstants.SMD_INTERNAL),
  /** A rule's finding, asked for as an error. */
  RULE_CONDITION_MET(RawConstants.SMD_RULE_CONDITION_MET);

  private final int number;

  ErrorCode(int number) {
    this.number = number;
  }

  /**
   * The number that the C interface has for it.
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
