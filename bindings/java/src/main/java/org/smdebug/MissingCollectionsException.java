package org.smdebug;

/** There are no collection files: nothing was recorded, or elsewhere (MISSING_COLLECTIONS). */
public class MissingCollectionsException extends SmdebugException {
  private static final long serialVersionUID = 1;

  MissingCollectionsException(Facts facts) {
    super(facts);
  }
}
