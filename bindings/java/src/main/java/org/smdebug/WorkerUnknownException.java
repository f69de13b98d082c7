package org.smdebug;

/** No worker of this name saved the tensor there (WORKER_UNKNOWN). */
public class WorkerUnknownException extends SmdebugException {
  private static final long serialVersionUID = 1;

  WorkerUnknownException(Facts facts) {
    super(facts);
  }
}
