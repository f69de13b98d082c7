package org.smdebug;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.smdebug.raw.Raw;

/**
 * What rules over a profile have found: where the time of steps goes, and what to change.
 *
 * <pre>{@code
 * ProfileEvaluation evaluation = ProfileEvaluation.of("profile");
 * evaluation.findings().forEach(System.out::println);
 * }</pre>
 *
 * @param findings the findings; the tensor is the culprit: a part of the step, or a device
 * @param results the summary of each rule
 * @param charts the figures of charts as JSON: phases over steps, samples over time, and the spans
 *     of a usual step and of the slowest one
 */
public record ProfileEvaluation(List<Finding> findings, List<RuleResult> results, String charts) {
  /**
   * Evaluates the rules that rarely report a healthy job.
   *
   * @param path a folder that holds "system" or "framework", or s3://bucket/prefix
   * @return the evaluation
   */
  public static ProfileEvaluation of(String path) {
    return of(path, RuleSet.Profile.CALIBRATED, List.of(), Map.of());
  }

  /**
   * Evaluates the rules that rarely report a healthy job, as {@link #of(String)} does.
   *
   * @param folder a folder that holds "system" or "framework"
   * @return the evaluation
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static ProfileEvaluation of(Path folder) {
    return of(Folders.textOf(folder));
  }

  /**
   * Evaluates rules, as {@link #of(String, RuleSet.Profile, List, Map)} does.
   *
   * @param folder a folder that holds "system" or "framework"
   * @param profile which rules and defaults
   * @param rules the rules to evaluate; if empty, all
   * @param options parameters such as "CPUBottleneck_threshold", by name
   * @return the evaluation
   * @throws IllegalArgumentException if a rule or an option is unknown, or if the path is not one of
   *     the default file system, or a bucket
   * @throws InvalidConfigException if a value is invalid
   */
  public static ProfileEvaluation of(
      Path folder, RuleSet.Profile profile, List<String> rules, Map<String, String> options) {
    return of(Folders.textOf(folder), profile, rules, options);
  }

  /**
   * Evaluates rules.
   *
   * @param path a folder that holds "system" or "framework", or s3://bucket/prefix
   * @param profile which rules and defaults; {@link RuleSet.Profile#AWS} has those of the
   *     original's history
   * @param rules the rules to evaluate; if empty, all
   * @param options parameters such as "CPUBottleneck_threshold", and options of S3, by name
   * @return the evaluation
   * @throws IllegalArgumentException if a rule or an option is unknown
   * @throws InvalidConfigException if a value is invalid
   */
  public static ProfileEvaluation of(
      String path, RuleSet.Profile profile, List<String> rules, Map<String, String> options) {
    long evaluation = Raw.smd_profile_rules_new(path, profile.key());
    try {
      rules.forEach(name -> Raw.smd_profile_rules_set(evaluation, "rule", name));
      options.forEach((name, value) -> Raw.smd_profile_rules_set(evaluation, name, value));
      Raw.smd_profile_rules_evaluate(evaluation);
      return new ProfileEvaluation(
          Finding.take(Raw.smd_profile_rules_findings(evaluation)),
          RuleResult.take(Raw.smd_profile_rules_results(evaluation)),
          Lists.takeText(Raw.smd_profile_rules_charts(evaluation)));
    } finally {
      Raw.smd_profile_rules_free(evaluation);
    }
  }

  /**
   * Writes all timelines and samples of a profile as one trace, which Perfetto opens.
   *
   * @param path the profile
   * @param trace the file to write; it is replaced
   */
  public static void writeTimeline(String path, Path trace) {
    long evaluation = Raw.smd_profile_rules_new(path, RuleSet.Profile.CALIBRATED.key());
    try {
      Raw.smd_profile_rules_write_timeline(evaluation, trace.toString());
    } finally {
      Raw.smd_profile_rules_free(evaluation);
    }
  }

  /**
   * Writes all timelines and samples of a profile as one trace, as {@link #writeTimeline(String,
   * Path)} does.
   *
   * @param folder the profile
   * @param trace the file to write; it is replaced
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static void writeTimeline(Path folder, Path trace) {
    writeTimeline(Folders.textOf(folder), trace);
  }
}
