package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.smdebug.raw.Raw;

/**
 * The summary of one rule of a {@link RuleSet}.
 *
 * @param rule the rule's name
 * @param status whether it passed, and if not, why
 * @param findingCount how many findings it has, without those worth a look
 * @param message the first finding, or why there is none
 * @param first the first finding; if there is none, the first worth a look
 * @param lookCount how many findings worth a look it has
 */
public record RuleResult(
    String rule,
    Status status,
    long findingCount,
    String message,
    Optional<Finding> first,
    long lookCount) {
  /** What a rule reports about all steps that it has evaluated. */
  public enum Status {
    /** Evaluated, without a finding. */
    PASSED,
    /** Found something at one step or more. */
    HAS_FINDINGS,
    /** No matching tensors. */
    NO_TENSORS,
    /** Matching tensors, but the rule needs more of them. */
    NOT_ENOUGH_DATA,
    /** Nothing but findings worth a look. */
    WORTH_A_LOOK
  }

  /**
   * The result as a line of a log.
   *
   * @return rule and message
   */
  @Override
  public String toString() {
    return rule + ": " + message;
  }

  /** Takes ownership of an smd_rule_results. */
  static List<RuleResult> take(long list) {
    try {
      int count = (int) Raw.smd_rule_results_count(list);
      List<RuleResult> results = new ArrayList<>(count);
      for (int i = 0; i < count; ++i) {
        results.add(of(Raw.smd_rule_results_get(list, i)));
      }
      return List.copyOf(results);
    } finally {
      Raw.smd_rule_results_free(list);
    }
  }

  private static RuleResult of(long result) {
    long first = Raw.raw_result_first(result);
    return new RuleResult(
        Raw.raw_result_rule(result),
        Status.values()[Raw.raw_result_status(result)],
        Raw.raw_result_count(result),
        Raw.raw_result_message(result),
        first == 0 ? Optional.empty() : Optional.of(Finding.of(first)),
        Raw.raw_result_looks(result));
  }
}
