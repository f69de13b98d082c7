package org.smdebug;

/** No worker with this name saved the tensor at this step (WORKER_UNKNOWN). */
public class WorkerUnknownException extends SmdebugException {
  private static final long serialVersionUID = 1;

  WorkerUnknownException(Facts facts) {
    super(facts);
  }
}
