package org.smdebug;

import java.util.HashMap;
import java.util.Map;
import org.smdebug.SmdebugException.Facts;
import org.smdebug.raw.Raw;

/** Converts every error of the C library to an exception. */
final class Errors {
  private static final String[] DETAILS = {
    "path",
    "step",
    "mode",
    "tensor",
    "worker",
    "collection",
    "rule",
    "last_step",
    "has_reductions",
    "errno",
    "expression",
    "offset",
    "cause",
    "http_status",
    "s3_code",
    "region",
    "request_id",
    "sts_code",
    "sso",
    "key",
    "size",
    "elements",
    "device",
    "reduction"
  };

  private Errors() {}

  /** Returns the exception for an error and frees the error. C calls this. */
  static Throwable from(long error) {
    try {
      return exception(facts(error));
    } finally {
      Raw.smd_error_free(error);
    }
  }

  private static Facts facts(long error) {
    Map<String, String> details = new HashMap<>();
    for (String key : DETAILS) {
      String detail = Raw.smd_error_detail(error, key);
      if (detail != null) {
        details.put(key, detail);
      }
    }
    return new Facts(
        ErrorCode.of(Raw.smd_error_code(error)),
        Raw.smd_error_message(error),
        Raw.smd_error_is_retryable(error) != 0,
        Map.copyOf(details));
  }

  static RuntimeException exception(Facts facts) {
    return switch (facts.code()) {
      case INVALID_ARGUMENT ->
          new IllegalArgumentException(facts.message(), new SmdebugException(facts));
      case WRONG_STATE -> new IllegalStateException(facts.message(), new SmdebugException(facts));
      case INVALID_CONFIG -> new InvalidConfigException(facts);
      case TRIAL_EXISTS -> new TrialExistsException(facts);
      case STEP_UNAVAILABLE -> new StepUnavailableException(facts);
      case STEP_NOT_YET -> new StepNotYetException(facts);
      case NO_MORE_DATA -> new NoMoreDataException(facts);
      case TENSOR_UNAVAILABLE -> new TensorUnavailableException(facts);
      case VALUE_UNAVAILABLE -> new ValueUnavailableException(facts);
      case SHAPE_UNAVAILABLE -> new ShapeUnavailableException(facts);
      case WORKER_UNKNOWN -> new WorkerUnknownException(facts);
      case MISSING_COLLECTIONS -> new MissingCollectionsException(facts);
      case CORRUPT_DATA -> new CorruptDataException(facts);
      case RULE_CONDITION_MET -> new RuleConditionMetException(facts);
      case CANCELLED -> new CancelledException(facts);
      case TIMEOUT ->
          isOfServer(facts) ? new StorageException(facts) : new WaitTimeoutException(facts);
      case IO,
          NOT_FOUND,
          PERMISSION,
          NETWORK,
          CREDENTIALS,
          STEP_DROPPED,
          NO_SPACE,
          TLS,
          CREDENTIALS_REFUSED,
          CREDENTIALS_EXPIRED,
          CLOCK_SKEWED,
          WRONG_REGION,
          BUCKET_NOT_FOUND,
          THROTTLED ->
          new StorageException(facts);
      default -> new SmdebugException(facts);
    };
  }

  /** Returns true for a server that timed out, which is not a wait that reached its time limit. */
  private static boolean isOfServer(Facts facts) {
    return facts.details().containsKey("cause") || facts.details().containsKey("s3_code");
  }
}
