package org.smdebug;

/** What is to be done about a finding, the least severe first. */
public enum Action {
  /** Go on. */
  CONTINUE,
  /** Tell somebody, and go on. */
  WARN,
  /** Stop the training. */
  STOP;

  int number() {
    return ordinal();
  }

  static Action of(int number) {
    return values()[number];
  }
}
