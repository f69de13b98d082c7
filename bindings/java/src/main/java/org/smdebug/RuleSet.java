package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.smdebug.raw.Raw;

/**
 * Several built-in rules that evaluate a job together: a trial, or a running job ({@link
 * Hook#attach}). The rules share what they read, and evaluate each step once. A rule set belongs to
 * the first trial or hook of which it evaluates a step. May be used from any thread; one at a time
 * evaluates.
 */
public final class RuleSet implements AutoCloseable {
  private final Handle handle;

  /** Which defaults the parameters of rules have. */
  public enum Profile {
    /** As the training service documents them. */
    AWS("aws"),
    /** Ours, which rarely report anything on a healthy run. */
    CALIBRATED("calibrated");

    private final String key;

    Profile(String key) {
      this.key = key;
    }
  }

  /** Makes an empty rule set, whose parameters have the defaults of the training service. */
  public RuleSet() {
    this(Profile.AWS);
  }

  /**
   * Makes an empty rule set.
   *
   * @param profile which defaults parameters have
   */
  public RuleSet(Profile profile) {
    handle = new Handle(this, "the rule set", Raw.smd_rule_set_new(profile.key), Raw::smd_rule_set_free);
  }

  /**
   * Adds a rule with its defaults.
   *
   * @param rule its name
   * @param action what its findings recommend
   * @return this
   * @throws IllegalArgumentException if the rule is unknown
   * @throws IllegalStateException if a step was evaluated
   */
  public RuleSet add(String rule, Action action) {
    return add(rule, Map.of(), action);
  }

  /**
   * Adds a rule, before the first step is evaluated.
   *
   * @param rule its name
   * @param parameters values by name; the others have their defaults
   * @param action what its findings recommend
   * @return this
   * @throws IllegalArgumentException if the rule is unknown
   * @throws InvalidConfigException if a parameter is unknown or its value is bad
   * @throws IllegalStateException if a step was evaluated
   */
  public RuleSet add(String rule, Map<String, String> parameters, Action action) {
    String json = BuiltinRule.toJson(parameters);
    handle.run(set -> Raw.smd_rule_set_add(set, rule, json, action.number()));
    return this;
  }

  /**
   * Evaluates only the steps that a config selects, as if the job had saved no others; other steps
   * cost a job no more than its hook does. Every step of a mode without settings is evaluated.
   *
   * @param config the config
   * @return this
   * @throws IllegalStateException if a step was evaluated
   */
  public RuleSet saveConfig(SaveConfig config) {
    handle.run(set -> config.use(saves -> Raw.smd_rule_set_set_save_config(set, saves)));
    return this;
  }

  /**
   * Evaluates the known steps of a trial that were not evaluated yet.
   *
   * @param trial the trial
   * @return the findings
   * @throws CancelledException if the thread is interrupted, which it then still is
   */
  public List<Finding> evaluate(Trial trial) {
    return evaluate(trial, 0, Long.MAX_VALUE);
  }

  /**
   * Evaluates the known global steps first &lt;= step &lt; end that were not evaluated yet. Rules
   * also observe earlier steps, without reporting them.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @return the findings
   * @throws CancelledException if the thread is interrupted, which it then still is
   */
  public List<Finding> evaluate(Trial trial, long first, long end) {
    List<Finding> findings = new ArrayList<>();
    trial
        .steps()
        .filter(step -> first <= step && step < end)
        .forEach(step -> findings.addAll(step(trial, step)));
    return List.copyOf(findings);
  }

  /**
   * Evaluates the steps of a trial, waiting for those to come until the job ends.
   *
   * @param trial the trial
   * @return the findings, each as soon as it is made; see {@link #follow(Trial, long, long)}
   */
  public Stream<Finding> follow(Trial trial) {
    return follow(trial, 0, Long.MAX_VALUE);
  }

  /**
   * Evaluates the global steps first &lt;= step &lt; end as {@link #evaluate(Trial, long, long)} does,
   * waiting for those to come. An interrupt ends the wait with a CancelledException and stays set.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @return the findings, evaluated as the stream is read: findFirst() evaluates no step after that
   */
  public Stream<Finding> follow(Trial trial, long first, long end) {
    return trial
        .follow(Mode.GLOBAL, first, end)
        .boxed()
        .flatMap(step -> step(trial, step).stream());
  }

  List<Finding> step(Trial trial, long step) {
    if (Thread.currentThread().isInterrupted()) {
      throw Interruption.exception();
    }
    return handle.get(
        set ->
            trial
                .handle()
                .get(
                    raw ->
                        Finding.take(
                            Raw.smd_rule_set_evaluate(set, raw, step, endAfter(step), 0))));
  }

  /** The end of a range whose last step is `step`. */
  private static long endAfter(long step) {
    return step == Long.MAX_VALUE ? -1 : step + 1;
  }

  /**
   * The summary of each rule.
   *
   * @return one result a rule, in the order in which they were added
   */
  public List<RuleResult> results() {
    return handle.get(set -> RuleResult.take(Raw.smd_rule_set_results(set)));
  }

  /**
   * Forgets the trial and all results, and keeps the rules.
   *
   * @throws IllegalStateException if the rule set is attached to a hook
   */
  public void reset() {
    handle.run(Raw::smd_rule_set_reset);
  }

  /**
   * All built-in rules and their parameters.
   *
   * @return the rules
   */
  public static List<RuleInfo> builtinRules() {
    List<RuleInfo> rules = new ArrayList<>();
    for (long rule = 0; rule < Raw.smd_builtin_rule_count(); ++rule) {
      List<RuleInfo.Parameter> parameters = new ArrayList<>();
      for (long i = 0; i < Raw.raw_rule_parameter_count(rule); ++i) {
        parameters.add(
            new RuleInfo.Parameter(
                Raw.raw_rule_parameter(rule, i, 0),
                Raw.raw_rule_parameter(rule, i, 1),
                Raw.raw_rule_parameter(rule, i, 2),
                Raw.raw_rule_parameter(rule, i, 3)));
      }
      rules.add(
          new RuleInfo(
              Raw.raw_rule_name(rule), Raw.raw_rule_summary(rule), List.copyOf(parameters)));
    }
    return List.copyOf(rules);
  }

  /** Frees the rule set; a hook that it is attached to keeps its rules. Idempotent. */
  @Override
  public void close() {
    handle.close();
  }

  Handle handle() {
    return handle;
  }
}
