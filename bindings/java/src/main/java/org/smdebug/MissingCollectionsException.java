package org.smdebug;

/** There are no collections files: nothing was recorded at this path (MISSING_COLLECTIONS). */
public class MissingCollectionsException extends SmdebugException {
  private static final long serialVersionUID = 1;

  MissingCollectionsException(Facts facts) {
    super(facts);
  }
}
