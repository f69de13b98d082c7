package org.smdebug;

/** A file is damaged or has unexpected content (CORRUPT_DATA). */
public class CorruptDataException extends SmdebugException {
  private static final long serialVersionUID = 1;

  CorruptDataException(Facts facts) {
    super(facts);
  }
}
