package org.smdebug;

/** A file does not hold what it should (CORRUPT_DATA). */
public class CorruptDataException extends SmdebugException {
  private static final long serialVersionUID = 1;

  CorruptDataException(Facts facts) {
    super(facts);
  }
}
