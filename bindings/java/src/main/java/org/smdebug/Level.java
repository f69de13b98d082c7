package org.smdebug;

/** How sure a finding is. */
public enum Level {
  /** Something is wrong. */
  FINDING,
  /** Something may be wrong. Recommends {@link Action#CONTINUE}, and never ends an evaluation. */
  WORTH_A_LOOK;

  int number() {
    return ordinal();
  }

  static Level of(int number) {
    return values()[number];
  }
}
