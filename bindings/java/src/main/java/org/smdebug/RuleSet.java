package org.smdebug;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.smdebug.raw.Native;
import org.smdebug.raw.Raw;
import org.smdebug.raw.Text;

/**
 * Several rules that evaluate a job together: a trial, or a running job ({@link Hook#attach}).
 * Built-in rules share what they read, and evaluate each step once. A rule set belongs to the first
 * trial or hook of which it evaluates a step. May be used from any thread, but only one at a time
 * evaluates; for another one, that throws an IllegalStateException.
 */
public final class RuleSet implements AutoCloseable {
  private static final long NO_STEP = -1;

  private final Handle handle;

  /**
   * C knows functions by their place in this list, so that a rule set to which its own functions
   * refer can be collected.
   */
  private final List<RuleFunction> functions = new CopyOnWriteArrayList<>();

  /** Which defaults the parameters of rules have. */
  public enum Profile {
    /** Ours, which rarely report anything on a healthy run. */
    CALIBRATED("calibrated"),
    /** As the training service documents them. */
    AWS("aws"),
    /** A set that holds the rules for large trainings. */
    LLM("llm");

    private final String key;

    Profile(String key) {
      this.key = key;
    }

    String key() {
      return key;
    }
  }

  /** Makes an empty rule set of the profile {@link Profile#CALIBRATED}. */
  public RuleSet() {
    this(Profile.CALIBRATED);
  }

  /**
   * Makes an empty rule set.
   *
   * @param profile which defaults parameters have
   */
  public RuleSet(Profile profile) {
    // The handle must not keep the functions, which may refer to this.
    WeakReference<List<RuleFunction>> unused = new WeakReference<>(functions);
    handle =
        new Handle(
            this, "the rule set", Raw.smd_rule_set_new(profile.key), set -> free(set, unused));
  }

  private static void free(long set, WeakReference<List<RuleFunction>> functions) {
    Raw.smd_rule_set_free(set);
    List<RuleFunction> unused = functions.get();
    if (unused != null) {
      synchronized (unused) {
        unused.clear();
      }
    }
  }

  /**
   * Adds a built-in rule with its defaults.
   *
   * @param rule its name
   * @param action what its findings recommend
   * @return this
   * @throws IllegalArgumentException if the rule is unknown
   * @throws IllegalStateException if a step was evaluated, or while the rule set is attached to a
   *     hook or being evaluated
   */
  public RuleSet add(String rule, Action action) {
    return add(rule, Map.of(), action);
  }

  /**
   * Adds a built-in rule.
   *
   * @param rule its name
   * @param parameters values by name; the others have their defaults
   * @param action what its findings recommend
   * @return this
   * @throws IllegalArgumentException if the rule is unknown
   * @throws InvalidConfigException if a parameter is unknown or its value is bad
   * @throws IllegalStateException if a step was evaluated, or while the rule set is attached to a
   *     hook or being evaluated
   */
  public RuleSet add(String rule, Map<String, String> parameters, Action action) {
    String json = BuiltinRule.toJson(parameters);
    handle.run(set -> Raw.smd_rule_set_add(set, rule, json, action.number()));
    return this;
  }

  /**
   * Adds every built-in rule that needs no parameter and that the rule set does not hold: those that
   * {@code smdebug rules} evaluates without {@code --rule}. A rule that was added before keeps its
   * parameters, and the more severe of both actions. A rule set of {@link Profile#LLM} holds all of
   * them from the beginning.
   *
   * @param action what their findings recommend
   * @return this
   * @throws IllegalStateException if a step was evaluated, or while the rule set is attached to a
   *     hook or being evaluated
   */
  public RuleSet addAll(Action action) {
    handle.run(set -> Raw.smd_rule_set_add_all(set, action.number()));
    return this;
  }

  /**
   * Adds a rule of your own. A rule set with such a rule reads a trial, so it cannot be attached to
   * a hook. The rule set keeps the function until it is closed or collected.
   *
   * @param name the rule's name in findings
   * @param function the rule
   * @param action what its findings recommend at least
   * @return this
   * @throws IllegalStateException if a step was evaluated, or while the rule set is being evaluated
   */
  public RuleSet add(String name, RuleFunction function, Action action) {
    Objects.requireNonNull(function, "a rule needs a function");
    byte[] utf8 = Text.utf8(Objects.requireNonNull(name, "a rule needs a name"));
    synchronized (functions) {
      // First, since another thread may evaluate as soon as the library knows it.
      functions.add(function);
      int number = functions.size() - 1;
      try {
        handle.run(set -> Native.addFunction(set, utf8, number, action.number()));
      } catch (RuntimeException | Error failure) {
        if (number < functions.size()) { // unless this call was the last one of a closed rule set
          functions.remove(number);
        }
        throw failure;
      }
    }
    return this;
  }

  /**
   * Evaluates only the steps that a config selects, as if the job had saved no others; other steps
   * cost a job no more than its hook does. Every step of a mode without settings is evaluated.
   *
   * @param config the config
   * @return this
   * @throws IllegalStateException if a step was evaluated, or while the rule set is attached to a
   *     hook or being evaluated
   */
  public RuleSet saveConfig(SaveConfig config) {
    handle.run(set -> config.use(saves -> Raw.smd_rule_set_set_save_config(set, saves)));
    return this;
  }

  /**
   * Evaluates the known steps of a trial that were not evaluated yet; see {@link #evaluate(Trial,
   * long, long, Consumer, EvaluateOption...)}.
   *
   * @param trial the trial
   * @param options how
   * @return the findings; if this throws, those made before are only counted in {@link #results}
   * @throws RuleConditionMetException at the first finding, on request
   * @throws CancelledException if the thread is interrupted, which it then still is
   * @throws IllegalStateException if the rule set has evaluated another trial, is attached to a
   *     hook, or is being evaluated
   */
  public List<Finding> evaluate(Trial trial, EvaluateOption... options) {
    return evaluate(trial, 0, Long.MAX_VALUE, options);
  }

  /**
   * Evaluates the known global steps first &lt;= step &lt; end that were not evaluated yet; see
   * {@link #evaluate(Trial, long, long, Consumer, EvaluateOption...)}.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @param options how
   * @return the findings; if this throws, those made before are only counted in {@link #results}
   * @throws RuleConditionMetException at the first finding, on request
   * @throws CancelledException if the thread is interrupted, which it then still is
   * @throws IllegalStateException if the rule set has evaluated another trial, is attached to a
   *     hook, or is being evaluated
   */
  public List<Finding> evaluate(Trial trial, long first, long end, EvaluateOption... options) {
    List<Finding> findings = new ArrayList<>();
    evaluate(trial, first, end, findings::add, options);
    return List.copyOf(findings);
  }

  /**
   * Evaluates the known global steps first &lt;= step &lt; end that were not evaluated yet.
   * Built-in rules also observe earlier steps, without reporting them.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @param sink receives each finding after its step, also those of a step at which this throws
   * @param options how
   * @throws RuleConditionMetException at the first finding, on request
   * @throws CancelledException if the thread is interrupted, which it then still is
   * @throws IllegalStateException if the rule set has evaluated another trial, is attached to a
   *     hook, or is being evaluated
   */
  public void evaluate(
      Trial trial,
      long first,
      long end,
      Consumer<? super Finding> sink,
      EvaluateOption... options) {
    int flags = EvaluateOption.flags(options);
    LongStream known =
        trial
            .steps(Mode.GLOBAL, EvaluateOption.INCLUDE_INCOMPLETE.isIn(flags))
            .filter(step -> first <= step && step < end);
    // Looking for more steps at each would ask a bucket each time.
    trial.still(() -> known.forEach(step -> evaluate(trial, step, flags, sink)));
  }

  /**
   * Evaluates the steps of a trial, waiting for those to come until the job ends.
   *
   * @param trial the trial
   * @param options how
   * @return the findings, each as soon as it is made; see {@link #follow(Trial, long, long,
   *     EvaluateOption...)}
   */
  public Stream<Finding> follow(Trial trial, EvaluateOption... options) {
    return follow(trial, 0, Long.MAX_VALUE, options);
  }

  /**
   * Evaluates the global steps first &lt;= step &lt; end as {@link #evaluate(Trial, long, long,
   * EvaluateOption...)} does, waiting for those to come. An interrupt ends the wait with a
   * CancelledException and stays set. The stream yields the findings of a failing step before it
   * throws.
   *
   * @param trial the trial
   * @param first the first step
   * @param end the step before which to stop
   * @param options how
   * @return the findings, evaluated as the stream is read: findFirst() evaluates no step after
   *     that, and drops the other findings of that step
   */
  public Stream<Finding> follow(Trial trial, long first, long end, EvaluateOption... options) {
    int flags = EvaluateOption.flags(options);
    AtomicLong last = new AtomicLong(NO_STEP);
    Stream<Finding> found =
        trial
            .follow(Mode.GLOBAL, first, end, EvaluateOption.INCLUDE_INCOMPLETE.isIn(flags))
            .boxed()
            .flatMap(
                step -> {
                  last.set(step);
                  return stream(trial, step, flags);
                });
    // The job may have ended since its last step, which rules hear when that is evaluated again.
    Stream<Finding> atEnd =
        Stream.of(last)
            .map(AtomicLong::get)
            .filter(step -> step != NO_STEP)
            .flatMap(step -> stream(trial, step, flags));
    return Stream.concat(found, atEnd);
  }

  private Stream<Finding> stream(Trial trial, long step, int flags) {
    List<Finding> found = new ArrayList<>();
    try {
      evaluate(trial, step, flags, found::add);
      return found.stream();
    } catch (Throwable failure) {
      Stream<Finding> failing =
          Stream.generate(
              () -> {
                throw RuleCalls.<RuntimeException>unchanged(failure);
              });
      return Stream.concat(found.stream(), failing);
    }
  }

  /** Evaluates one step. */
  List<Finding> evaluate(Trial trial, long step) {
    List<Finding> found = new ArrayList<>();
    evaluate(trial, step, 0, found::add);
    return found;
  }

  private void evaluate(Trial trial, long step, int flags, Consumer<? super Finding> sink) {
    if (Thread.currentThread().isInterrupted()) {
      throw Interruption.exception();
    }
    RuleCalls calls = new RuleCalls(trial, functions);
    long[] found = {0};
    Throwable failure = null;
    try {
      handle.run(
          set ->
              trial
                  .handle()
                  .run(
                      raw ->
                          Native.evaluate(set, raw, step, endAfter(step), flags, calls, found)));
    } catch (RuntimeException | Error thrown) {
      failure = thrown;
    }
    try {
      Finding.take(found[0]).forEach(sink);
    } catch (RuntimeException | Error thrown) {
      calls.suppressIn(thrown, failure);
      throw thrown;
    }
    calls.end(failure);
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
   * The likely causes of what was found so far. May be called while the rule set is attached to a
   * hook.
   *
   * @return at most three, the likeliest first; none if nothing was found, if it speaks for no
   *     known cause, or with {@link Profile#AWS}
   */
  public List<Cause> diagnose() {
    return handle.get(set -> Cause.take(Raw.smd_rule_set_diagnose(set)));
  }

  /**
   * Forgets the trial and all results, and keeps the rules; functions are not told.
   *
   * @throws IllegalStateException while the rule set is attached to a hook or being evaluated
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
