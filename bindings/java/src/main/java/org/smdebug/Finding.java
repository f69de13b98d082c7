package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.smdebug.raw.Raw;

/**
 * What a rule of a {@link RuleSet} found at one step.
 *
 * @param rule the rule's name
 * @param check which of the rule's checks it was; "" for rules with one
 * @param tensor the culprit, or ""
 * @param worker the worker that recorded it, or ""
 * @param message all that in one sentence
 * @param step the global step
 * @param mode the step's mode
 * @param modeStep the step's number in that mode
 * @param action what the finding recommends
 * @param value what was measured, if anything was
 * @param limit the limit that the value passed, if there is one
 */
public record Finding(
    String rule,
    String check,
    String tensor,
    String worker,
    String message,
    long step,
    Mode mode,
    long modeStep,
    Action action,
    OptionalDouble value,
    OptionalDouble limit) {
  /**
   * The finding as a line of a log.
   *
   * @return rule, step and message
   */
  @Override
  public String toString() {
    return rule + " at step " + step + ": " + message;
  }

  /** Takes ownership of an smd_findings. */
  static List<Finding> take(long list) {
    try {
      int count = (int) Raw.smd_findings_count(list);
      List<Finding> findings = new ArrayList<>(count);
      for (int i = 0; i < count; ++i) {
        findings.add(of(Raw.smd_findings_get(list, i)));
      }
      return List.copyOf(findings);
    } finally {
      Raw.smd_findings_free(list);
    }
  }

  /** Copies an smd_finding. */
  static Finding of(long finding) {
    return new Finding(
        Raw.raw_finding_text(finding, 0),
        Raw.raw_finding_text(finding, 1),
        Raw.raw_finding_text(finding, 2),
        Raw.raw_finding_text(finding, 3),
        Raw.raw_finding_text(finding, 4),
        Raw.raw_finding_number(finding, 0),
        Mode.of((int) Raw.raw_finding_number(finding, 2)),
        Raw.raw_finding_number(finding, 1),
        Action.of((int) Raw.raw_finding_number(finding, 3)),
        optional(Raw.raw_finding_value(finding)),
        optional(Raw.raw_finding_limit(finding)));
  }

  private static OptionalDouble optional(double number) {
    return Double.isNaN(number) ? OptionalDouble.empty() : OptionalDouble.of(number);
  }
}
