package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.smdebug.raw.Raw;

/**
 * A finding of a rule of a {@link RuleSet} at one step.
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
 * @param level whether it is a finding or worth a look
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
    OptionalDouble limit,
    Level level) {
  /**
   * The finding as a line of a log.
   *
   * @return rule, step and message
   */
  @Override
  public String toString() {
    String look = level == Level.WORTH_A_LOOK ? "worth a look: " : "";
    return look + rule + " at step " + step + ": " + message;
  }

  /** Takes ownership of an smd_findings, or of 0. */
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

  /**
   * Makes a finding of your own rule, which {@link RuleStep#report(Finding)} takes.
   *
   * @param message what was found, in one sentence
   * @return the finding, without other facts
   */
  public static Finding of(String message) {
    return new Finding(
        "",
        "",
        "",
        "",
        message,
        -1,
        Mode.GLOBAL,
        -1,
        Action.CONTINUE,
        OptionalDouble.empty(),
        OptionalDouble.empty(),
        Level.FINDING);
  }

  /**
   * Returns this finding with a check.
   *
   * @param name which of the rule's checks it was
   * @return the new finding
   */
  public Finding withCheck(String name) {
    return new Finding(
        rule, name, tensor, worker, message, step, mode, modeStep, action, value, limit, level);
  }

  /**
   * Returns this finding with a tensor.
   *
   * @param name the culprit
   * @return the new finding
   */
  public Finding withTensor(String name) {
    return new Finding(
        rule, check, name, worker, message, step, mode, modeStep, action, value, limit, level);
  }

  /**
   * Returns this finding with a worker.
   *
   * @param name the worker that recorded the tensor
   * @return the new finding
   */
  public Finding withWorker(String name) {
    return new Finding(
        rule, check, tensor, name, message, step, mode, modeStep, action, value, limit, level);
  }

  /**
   * Returns this finding with an action.
   *
   * @param recommended what it recommends
   * @return the new finding
   */
  public Finding withAction(Action recommended) {
    return new Finding(
        rule, check, tensor, worker, message, step, mode, modeStep, recommended, value, limit, level);
  }

  /**
   * Returns this finding with a value.
   *
   * @param measured what was measured
   * @return the new finding
   */
  public Finding withValue(double measured) {
    return new Finding(
        rule,
        check,
        tensor,
        worker,
        message,
        step,
        mode,
        modeStep,
        action,
        optional(measured),
        limit,
        level);
  }

  /**
   * Returns this finding with a limit.
   *
   * @param passed the limit that the value passed
   * @return the new finding
   */
  public Finding withLimit(double passed) {
    return new Finding(
        rule,
        check,
        tensor,
        worker,
        message,
        step,
        mode,
        modeStep,
        action,
        value,
        optional(passed),
        level);
  }

  /**
   * Returns this finding with a level.
   *
   * @param sure how sure it is
   * @return the new finding
   */
  public Finding withLevel(Level sure) {
    return new Finding(
        rule, check, tensor, worker, message, step, mode, modeStep, action, value, limit, sure);
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
        optional(Raw.raw_finding_limit(finding)),
        Level.of((int) Raw.raw_finding_number(finding, 4)));
  }

  private static OptionalDouble optional(double number) {
    return Double.isNaN(number) ? OptionalDouble.empty() : OptionalDouble.of(number);
  }
}
