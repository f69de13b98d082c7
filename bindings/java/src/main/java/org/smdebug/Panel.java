package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.smdebug.raw.Raw;

/**
 * Several built-in rules that look at a job together: at a trial, or from within ({@link
 * Hook#watch}). Each tensor is read and summed up once for all of them, and each step is judged
 * once, by whichever call comes first. May be used from any thread.
 */
public final class Panel implements AutoCloseable {
  private final Handle handle;

  /** Which defaults the parameters of rules have. */
  public enum Profile {
    /** As the training service documents them. */
    AWS("aws"),
    /** Ours, which leave healthy runs alone. */
    CALIBRATED("calibrated");

    private final String key;

    Profile(String key) {
      this.key = key;
    }
  }

  /** Makes a panel without rules, whose parameters have the defaults of the training service. */
  public Panel() {
    this(Profile.AWS);
  }

  /**
   * Makes a panel without rules.
   *
   * @param profile which defaults parameters have
   */
  public Panel(Profile profile) {
    handle = new Handle(this, "the panel", Raw.smd_panel_new(profile.key), Raw::smd_panel_free);
  }

  /**
   * Adds a rule with its defaults.
   *
   * @param rule its name
   * @param action what its findings will ask for
   * @return this
   * @throws IllegalArgumentException if there is no such rule
   * @throws IllegalStateException if a step was judged
   */
  public Panel add(String rule, Action action) {
    return add(rule, Map.of(), action);
  }

  /**
   * Adds a rule, before the first step is judged.
   *
   * @param rule its name
   * @param parameters values by name; those not given have their defaults
   * @param action what its findings will ask for
   * @return this
   * @throws IllegalArgumentException if there is no such rule
   * @throws InvalidConfigException if a parameter is unknown or makes no sense
   * @throws IllegalStateException if a step was judged
   */
  public Panel add(String rule, Map<String, String> parameters, Action action) {
    String json = BuiltinRule.toJson(parameters);
    handle.run(panel -> Raw.smd_panel_add(panel, rule, json, action.number()));
    return this;
  }

  /**
   * Looks only at the steps that a config saves, as if the job had been saved so: other steps cost
   * a job no more than its hook does. Of a mode without settings it looks at every step.
   *
   * @param config the config
   * @return this
   * @throws IllegalStateException if a step was judged
   */
  public Panel saveConfig(SaveConfig config) {
    handle.run(panel -> config.use(saves -> Raw.smd_panel_set_save_config(panel, saves)));
    return this;
  }

  /**
   * Judges the steps of a trial that are there and were not judged yet.
   *
   * @param trial the trial
   * @return the findings
   * @throws CancelledException if the thread is interrupted, which it then still is
   */
  public List<Verdict> run(Trial trial) {
    return run(trial, 0, Long.MAX_VALUE);
  }

  /**
   * Judges the global steps first &lt;= step &lt; end that are there and were not judged yet.
   * Earlier ones are shown to the rules and not reported.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @return the findings
   * @throws CancelledException if the thread is interrupted, which it then still is
   */
  public List<Verdict> run(Trial trial, long first, long end) {
    List<Verdict> verdicts = new ArrayList<>();
    trial
        .steps()
        .filter(step -> first <= step && step < end)
        .forEach(step -> verdicts.addAll(judge(trial, step)));
    return List.copyOf(verdicts);
  }

  /**
   * Judges the steps of a trial, waiting for those to come until the job ends.
   *
   * @param trial the trial
   * @return the findings, each as soon as it is made; see {@link #follow(Trial, long, long)}
   */
  public Stream<Verdict> follow(Trial trial) {
    return follow(trial, 0, Long.MAX_VALUE);
  }

  /**
   * Judges the global steps first &lt;= step &lt; end as {@link #run(Trial, long, long)} does,
   * waiting for those to come. An interrupt ends the wait with a CancelledException and stays set.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @return the findings, judged as the stream is read: findFirst() judges no step after that
   */
  public Stream<Verdict> follow(Trial trial, long first, long end) {
    return trial
        .follow(Mode.GLOBAL, first, end)
        .boxed()
        .flatMap(step -> judge(trial, step).stream());
  }

  private List<Verdict> judge(Trial trial, long step) {
    if (Thread.currentThread().isInterrupted()) {
      throw Interruption.exception();
    }
    return handle.get(
        panel ->
            trial
                .handle()
                .get(raw -> Verdict.take(Raw.smd_panel_run(panel, raw, step, step + 1, 0))));
  }

  /**
   * What each rule has to say of all that it has seen.
   *
   * @return one verdict a rule in the order they were added; of a rule with findings the first one,
   *     with how many there were
   */
  public List<Verdict> outcomes() {
    return handle.get(panel -> Verdict.take(Raw.smd_panel_outcomes(panel)));
  }

  /**
   * All built-in rules and their parameters.
   *
   * @return JSON: a list of objects with "name", "summary" and "parameters"; of each parameter
   *     "name", "aws" and "calibrated" (its defaults) and "meaning"
   */
  public static String rulesToJson() {
    return Lists.takeText(Raw.smd_panel_rules());
  }

  /** Frees the panel; a hook that watches with it keeps its rules. A second call does nothing. */
  @Override
  public void close() {
    handle.close();
  }

  Handle handle() {
    return handle;
  }
}
