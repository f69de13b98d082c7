package org.smdebug;

/** The action that a finding recommends. The least severe comes first. */
public enum Action {
  /** Continue. */
  CONTINUE,
  /** Report the finding, and continue. */
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
