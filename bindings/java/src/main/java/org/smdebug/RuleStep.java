package org.smdebug;

import java.util.OptionalDouble;
import org.smdebug.raw.Native;
import org.smdebug.raw.Text;

/**
 * One step of a trial that a {@link RuleFunction} evaluates. After the function has returned,
 * {@link #report(Finding)} throws an {@link IllegalStateException}. May be used from any thread.
 */
public final class RuleStep {
  private final Trial trial;
  private final long step;

  /** An smd_findings; 0 after the function has returned. */
  private long findings;

  private boolean isFinished;

  RuleStep(Trial trial, long step, long findings) {
    this.trial = trial;
    this.step = step;
    this.findings = findings;
  }

  /**
   * Returns the trial that is evaluated. It is not refreshed until the function returns.
   *
   * @return the trial that was passed to the rule set
   */
  public Trial trial() {
    return trial;
  }

  /**
   * Returns the number of the step.
   *
   * @return the global step
   */
  public long step() {
    return step;
  }

  /**
   * Reports a finding that has only a message.
   *
   * @param message what was found
   * @throws IllegalStateException if the function has returned
   */
  public void report(String message) {
    report(Finding.of(message));
  }

  /**
   * Reports a finding. The rule set fills in its rule, step, mode and mode step. Of its action and
   * that of the rule, the more severe one holds, unless its level is {@link Level#WORTH_A_LOOK}.
   *
   * @param finding the finding; {@link Finding#of(String)} makes one
   * @throws IllegalStateException if the function has returned
   */
  public synchronized void report(Finding finding) {
    if (findings == 0) {
      throw new IllegalStateException(
          "the rule's function has returned from step " + step + "; report findings before that");
    }
    byte[][] texts = {
      Text.utf8(finding.check()),
      Text.utf8(finding.tensor()),
      Text.utf8(finding.worker()),
      Text.utf8(finding.message())
    };
    Native.addFinding(
        findings,
        texts,
        finding.action().number(),
        numberOf(finding.value()),
        numberOf(finding.limit()),
        finding.level().number());
  }

  private static double numberOf(OptionalDouble number) {
    return number.orElse(Double.NaN);
  }

  /**
   * Ends the rule: unless the function throws, it is not called again until the rule set is reset.
   */
  public synchronized void finish() {
    isFinished = true;
  }

  /** Ends the use of the findings; returns true if the rule has finished. */
  synchronized boolean end() {
    findings = 0;
    return isFinished;
  }
}
