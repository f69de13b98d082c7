package org.smdebug;

import org.smdebug.raw.RawConstants;

/** The purpose of a step. GLOBAL numbers the steps of all modes together. */
public enum Mode {
  /** Every mode, in methods that accept it. */
  ANY(RawConstants.SMD_MODE_ANY),
  /** Training. */
  TRAIN(RawConstants.SMD_MODE_TRAIN),
  /** Evaluation. */
  EVAL(RawConstants.SMD_MODE_EVAL),
  /** Prediction. */
  PREDICT(RawConstants.SMD_MODE_PREDICT),
  /** All steps of a job, by their global numbers. */
  GLOBAL(RawConstants.SMD_MODE_GLOBAL);

  private final int number;

  Mode(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  static Mode of(long number) {
    for (Mode mode : values()) {
      if (mode.number == number) {
        return mode;
      }
    }
    throw new IllegalArgumentException("no mode has the number " + number);
  }
}
