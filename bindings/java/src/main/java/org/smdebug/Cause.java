package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.smdebug.raw.Raw;

/**
 * A likely cause of what the rules of a {@link RuleSet} have found.
 *
 * @param id such as "rate_too_high"; docs/diagnosis.md lists all
 * @param title the cause in a few words
 * @param confidence the chance that this is the cause, from 0 to 1
 * @param advice what to do, in two sentences
 * @param link the section of the documentation that says more
 * @param evidence what speaks for the cause, the strongest first
 * @param missing rules without tensors or data, whose findings would make it surer
 */
public record Cause(
    String id,
    String title,
    double confidence,
    String advice,
    String link,
    List<Evidence> evidence,
    List<String> missing) {
  /**
   * The findings of one check of a rule, which speak for a cause.
   *
   * @param first the one with the lowest step
   * @param findingCount how many findings there are
   * @param tensorCount in how many tensors
   */
  public record Evidence(Finding first, long findingCount, long tensorCount) {}

  /**
   * The cause as a line of a log.
   *
   * @return title and confidence
   */
  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%s (%.0f %%)", title, 100 * confidence);
  }

  /** Takes ownership of an smd_diagnosis. */
  static List<Cause> take(long list) {
    try {
      int count = (int) Raw.smd_diagnosis_count(list);
      List<Cause> causes = new ArrayList<>(count);
      for (int i = 0; i < count; ++i) {
        causes.add(of(Raw.smd_diagnosis_get(list, i)));
      }
      return List.copyOf(causes);
    } finally {
      Raw.smd_diagnosis_free(list);
    }
  }

  private static Cause of(long cause) {
    List<Evidence> evidence = new ArrayList<>();
    for (long i = 0; i < Raw.raw_cause_evidence_count(cause); ++i) {
      evidence.add(
          new Evidence(
              Finding.of(Raw.raw_evidence_first(cause, i)),
              Raw.raw_evidence_count(cause, i, 0),
              Raw.raw_evidence_count(cause, i, 1)));
    }
    List<String> missing = new ArrayList<>();
    for (long i = 0; i < Raw.raw_cause_missing_count(cause); ++i) {
      missing.add(Raw.raw_cause_missing(cause, i));
    }
    return new Cause(
        Raw.raw_cause_text(cause, 0),
        Raw.raw_cause_text(cause, 1),
        Raw.raw_cause_confidence(cause),
        Raw.raw_cause_text(cause, 2),
        Raw.raw_cause_text(cause, 3),
        List.copyOf(evidence),
        List.copyOf(missing));
  }
}
