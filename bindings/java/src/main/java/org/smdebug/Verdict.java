package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.smdebug.raw.Raw;

/**
 * One thing that a rule of a {@link Panel} says: a finding at a step, or what is to be said of a
 * whole run.
 *
 * @param rule the rule's name
 * @param status what it says
 * @param action what is to be done about a finding
 * @param step the global step of a finding; -1 for what is said of a whole run
 * @param mode what the step was done for; GLOBAL for what is said of a whole run
 * @param modeStep the step's number in that mode, or -1
 * @param worker who recorded it; "" where that is not said
 * @param tensor the tensor that did it; "" where that is not said
 * @param value what was measured, if anything was
 * @param limit the limit that it passed, if there is one
 * @param label which of the rule's checks it was; "" for rules with one
 * @param message all that in one sentence
 */
public record Verdict(
    String rule,
    Status status,
    Action action,
    long step,
    Mode mode,
    long modeStep,
    String worker,
    String tensor,
    OptionalDouble value,
    OptionalDouble limit,
    String label,
    String message) {
  /** What a verdict says: FINDING of a step; of a whole run, any of them. */
  public enum Status {
    /** Judged, and nothing found. */
    NO_ISSUE,
    /** Something was found. */
    FINDING,
    /** No tensor is one that the rule looks at. */
    NO_TENSOR,
    /** There was not enough to judge by. */
    NOT_ENOUGH_DATA
  }

  /**
   * The verdict as a line of a log.
   *
   * @return rule, step and message
   */
  @Override
  public String toString() {
    return rule + (step < 0 ? ": " : " at step " + step + ": ") + message;
  }

  /** Takes over an smd_verdicts. */
  static List<Verdict> take(long list) {
    try {
      int count = (int) Raw.smd_verdicts_count(list);
      List<Verdict> verdicts = new ArrayList<>(count);
      for (int i = 0; i < count; ++i) {
        verdicts.add(at(list, i));
      }
      return List.copyOf(verdicts);
    } finally {
      Raw.smd_verdicts_free(list);
    }
  }

  private static Verdict at(long list, int index) {
    return new Verdict(
        Raw.smd_verdicts_rule(list, index),
        Status.values()[Raw.smd_verdicts_status(list, index)],
        Action.of(Raw.smd_verdicts_action(list, index)),
        Raw.smd_verdicts_step(list, index),
        Mode.of(Raw.smd_verdicts_mode(list, index)),
        Raw.smd_verdicts_mode_step(list, index),
        Raw.smd_verdicts_worker(list, index),
        Raw.smd_verdicts_tensor(list, index),
        optional(Raw.smd_verdicts_value(list, index)),
        optional(Raw.smd_verdicts_limit(list, index)),
        Raw.smd_verdicts_label(list, index),
        Raw.smd_verdicts_message(list, index));
  }

  private static OptionalDouble optional(double number) {
    return Double.isNaN(number) ? OptionalDouble.empty() : OptionalDouble.of(number);
  }
}
