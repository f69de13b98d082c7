package org.smdebug;

/** A disk, a network or a service failed; the code says which one and how. */
public class StorageException extends SmdebugException {
  private static final long serialVersionUID = 1;

  StorageException(Facts facts) {
    super(facts);
  }
}
