package org.smdebug;

/** The job ended before the requested step (NO_MORE_DATA). */
public class NoMoreDataException extends SmdebugException {
  private static final long serialVersionUID = 1;

  NoMoreDataException(Facts facts) {
    super(facts);
  }

  /**
   * Returns the last step that was recorded.
   *
   * @return the step, in the numbering of the wait, or -1 if there is none
   */
  public long lastStep() {
    String step = detail("last_step");
    return step == null ? -1 : Long.parseLong(step);
  }
}
