package org.smdebug;

/**
 * A rule has found something (RULE_CONDITION_MET), and the evaluation was to stop there ({@link
 * EvaluateOption#STOP_AT_FINDING}). The details "rule" and "step" say where.
 */
public class RuleConditionMetException extends SmdebugException {
  private static final long serialVersionUID = 1;

  RuleConditionMetException(Facts facts) {
    super(facts);
  }
}
