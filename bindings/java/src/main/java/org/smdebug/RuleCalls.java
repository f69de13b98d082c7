package org.smdebug;

import java.util.List;
import org.smdebug.raw.Native;
import org.smdebug.raw.RawConstants;

/** Calls the functions of a rule set during one evaluation, and keeps what one of them throws. */
final class RuleCalls implements Native.RuleReceiver {
  private final Trial trial;
  private final List<RuleFunction> functions;
  private Throwable thrown;

  RuleCalls(Trial trial, List<RuleFunction> functions) {
    this.trial = trial;
    this.functions = functions;
  }

  @Override
  public int invoke(int rule, long at, long findings) {
    RuleStep step = new RuleStep(trial, at, findings);
    boolean isFinished = false;
    try {
      functions.get(rule).invoke(step);
    } catch (DataUnavailableException missing) {
      return SKIPPED;
    } catch (Throwable failure) {
      thrown = failure;
      return FAILED;
    } finally {
      isFinished = step.end();
    }
    return isFinished ? RawConstants.SMD_RULE_FINISHED : RawConstants.SMD_RULE_CONTINUE;
  }

  /** Keeps what a function has thrown, or else the evaluation's failure, beside another exception. */
  void suppressIn(Throwable other, Throwable failure) {
    Throwable own = thrown != null ? thrown : failure;
    if (own != null && own != other) {
      other.addSuppressed(own);
    }
  }

  /** Throws what a function has thrown, or else the evaluation's failure, unless it is null. */
  void end(Throwable failure) {
    if (failure instanceof RuleConditionMetException && thrown != null) {
      failure.addSuppressed(thrown);
    } else if (thrown != null) {
      throw RuleCalls.<RuntimeException>unchanged(thrown);
    }
    if (failure != null) {
      throw RuleCalls.<RuntimeException>unchanged(failure);
    }
  }

  /** Throws any exception as it is, also a checked one that its function does not declare. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> RuntimeException unchanged(Throwable thrown) throws E {
    throw (E) thrown;
  }
}
