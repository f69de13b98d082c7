package org.smdebug;

import org.smdebug.raw.RawConstants;

/** Changes how a {@link RuleSet} evaluates a trial. */
public enum EvaluateOption {
  /** Throw a {@link RuleConditionMetException} at the first finding. */
  STOP_AT_FINDING(RawConstants.SMD_EVALUATE_STOP_AT_FINDING),
  /** Also evaluate steps that a worker may still write to. */
  INCLUDE_INCOMPLETE(RawConstants.SMD_EVALUATE_INCOMPLETE);

  private final int flag;

  EvaluateOption(int flag) {
    this.flag = flag;
  }

  boolean isIn(int flags) {
    return (flags & flag) != 0;
  }

  static int flags(EvaluateOption... options) {
    int flags = 0;
    for (EvaluateOption option : options) {
      flags |= option.flag;
    }
    return flags;
  }
}
