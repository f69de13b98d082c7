package org.smdebug;

/** What was waited for lies after the end of a job that has ended (NO_MORE_DATA). */
public class NoMoreDataException extends SmdebugException {
  private static final long serialVersionUID = 1;

  NoMoreDataException(Facts facts) {
    super(facts);
  }

  /**
   * The last step that was recorded.
   *
   * @return the step, in the numbering that was waited for; -1 if there is none
   */
  public long lastStep() {
    String step = detail("last_step");
    return step == null ? -1 : Long.parseLong(step);
  }
}
