package org.smdebug;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.PrimitiveIterator;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.smdebug.raw.Raw;

/**
 * What a job recorded, or is still recording. Queries read what was recorded since the last one, as
 * long as {@link #autoRefresh(boolean)} is on. May be used from any thread.
 */
public final class Trial implements AutoCloseable {
  private final Handle handle;
  private final Map<String, Tensor> tensors = new ConcurrentHashMap<>();

  private final Object refreshLock = new Object();
  private int judging;
  private boolean refreshesAfterJudging;

  private Trial(long address) {
    handle = new Handle(this, "the trial", address, Raw::smd_trial_free);
  }

  /**
   * Opens a trial; waits until something was recorded (option "wait_seconds").
   *
   * @param path its folder, or s3://bucket/prefix
   * @return the trial
   * @throws MissingCollectionsException if nothing was recorded there
   * @throws CancelledException if the thread is interrupted, which it then still is
   */
  public static Trial open(String path) {
    return builder(path).open();
  }

  /**
   * Begins to describe how a trial is opened.
   *
   * @param path its folder, or s3://bucket/prefix
   * @return the description
   */
  public static Builder builder(String path) {
    return new Builder(path);
  }

  /** How a trial is opened. */
  public static final class Builder extends Options<Builder> {
    private final String path;

    private Builder(String path) {
      this.path = path;
    }

    @Override
    Builder self() {
      return this;
    }

    /**
     * Any name; without it the last part of the path.
     *
     * @param name the name
     * @return this
     */
    public Builder name(String name) {
      return option("name", name);
    }

    /**
     * Reads only some global steps.
     *
     * @param first the first
     * @param end the step before which to stop
     * @return this
     */
    public Builder range(long first, long end) {
      return option("first_step", Long.toString(first)).option("end_step", Long.toString(end));
    }

    /**
     * How long to wait until something was recorded; 600 s, if not given.
     *
     * @param timeout how long, in whole seconds
     * @return this
     */
    public Builder waitFor(Duration timeout) {
      return option("wait_seconds", Long.toString(timeout.toSeconds()));
    }

    /**
     * Opens the trial.
     *
     * @return the trial
     * @throws MissingCollectionsException if nothing was recorded there in time
     * @throws CancelledException if the thread is interrupted, which it then still is
     */
    public Trial open() {
      long options = Raw.smd_trial_options_new();
      Trial trial;
      try {
        setAll((name, value) -> Raw.smd_trial_options_set(options, name, value));
        setLog(options, false);
        trial = new Trial(Raw.smd_trial_new(path, options));
      } finally {
        Raw.smd_trial_options_free(options);
      }
      return trial.load();
    }
  }

  private Trial load() {
    try {
      Interruption.cancels(this::cancel, () -> handle.run(Raw::smd_trial_load));
      return this;
    } catch (RuntimeException | Error failure) {
      close();
      throw failure;
    }
  }

  /**
   * The path as it was given.
   *
   * @return the path
   */
  public String path() {
    return handle.get(Raw::smd_trial_path);
  }

  /**
   * The name given, or the last part of the path.
   *
   * @return the name
   */
  public String name() {
    return handle.get(Raw::smd_trial_name);
  }

  /** Reads what was recorded since. */
  public void refresh() {
    handle.run(Raw::smd_trial_refresh);
  }

  /**
   * Says whether queries refresh, as they do at first.
   *
   * @param on whether they do
   * @return whether they did
   */
  public boolean autoRefresh(boolean on) {
    synchronized (refreshLock) {
      if (judging == 0) {
        return setAutoRefresh(on);
      }
      boolean before = refreshesAfterJudging;
      refreshesAfterJudging = on;
      return before;
    }
  }

  private boolean setAutoRefresh(boolean on) {
    return handle.number(trial -> Raw.smd_trial_set_auto_refresh(trial, on ? 1 : 0)) != 0;
  }

  /** Ends every wait on this trial, now and later, with a CancelledException. */
  public void cancel() {
    handle.run(Raw::smd_trial_cancel);
  }

  /**
   * Whether the job has ended and everything it recorded is known.
   *
   * @return true if so
   */
  public boolean hasEnded() {
    return handle.number(Raw::smd_trial_has_ended) != 0;
  }

  /**
   * The last global step that is complete.
   *
   * @return the step, or -1
   */
  public long lastCompleteStep() {
    return handle.number(Raw::smd_trial_last_complete_step);
  }

  // ---- steps ----------------------------------------------------------------

  /**
   * The steps that are there, by their global numbers.
   *
   * @return the steps, ascending
   */
  public LongStream steps() {
    return steps(Mode.GLOBAL);
  }

  /**
   * The steps of a mode that are there.
   *
   * @param mode the mode
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode) {
    return steps(mode, false);
  }

  /**
   * The steps of a mode.
   *
   * @param mode the mode
   * @param incompleteToo whether also those that some worker has not written
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode, boolean incompleteToo) {
    return Arrays.stream(stepsNow(mode, incompleteToo));
  }

  long[] stepsNow(Mode mode, boolean incompleteToo) {
    return handle.get(
        trial -> Lists.takeSteps(Raw.smd_trial_steps(trial, mode.number(), incompleteToo ? 1 : 0)));
  }

  /**
   * The global steps from the first on, waiting for those to come until the job ends. An interrupt
   * ends the wait with a CancelledException and stays set.
   *
   * @return the steps, ascending, each as soon as it is there
   */
  public LongStream follow() {
    return follow(Mode.GLOBAL, 0);
  }

  /**
   * The steps of a mode, waiting as {@link #follow()} does.
   *
   * @param mode the mode
   * @param first the first step of interest
   * @return the steps, ascending, each as soon as it is there
   */
  public LongStream follow(Mode mode, long first) {
    return follow(mode, first, Long.MAX_VALUE);
  }

  LongStream follow(Mode mode, long first, long end) {
    PrimitiveIterator.OfLong steps = new LiveSteps(this, mode, first, end);
    int properties =
        Spliterator.ORDERED | Spliterator.DISTINCT | Spliterator.NONNULL | Spliterator.IMMUTABLE;
    return StreamSupport.longStream(Spliterators.spliteratorUnknownSize(steps, properties), false);
  }

  /**
   * Waits until a step is there.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @param timeout how long at most; null: without end
   * @throws InterruptedException if the thread is interrupted
   * @throws WaitTimeoutException if the time is over
   * @throws StepUnavailableException if it was not saved
   * @throws NoMoreDataException if the job has ended before it
   */
  public void waitForStep(long step, Mode mode, Duration timeout) throws InterruptedException {
    Slices.await(
        milliseconds -> waitFor(step, mode, milliseconds),
        timeout,
        "step " + step + " of " + mode + " did not come");
  }

  /** Waits until a global step is there; an interrupt ends that, and stays set. */
  void await(long step) {
    if (stepState(step, Mode.GLOBAL) == StepState.AVAILABLE) {
      return;
    }
    try {
      waitForStep(step, Mode.GLOBAL, null);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw Interruption.exception();
    }
  }

  void waitFor(long step, Mode mode, int milliseconds) {
    handle.run(trial -> Raw.smd_trial_wait_for_step(trial, step, mode.number(), milliseconds));
  }

  /**
   * Whether a step is there, will never be, or may still come.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @return which of these
   */
  public StepState stepState(long step, Mode mode) {
    long state = handle.number(trial -> Raw.smd_trial_step_state(trial, step, mode.number()));
    return StepState.values()[(int) state];
  }

  /**
   * The modes of the steps seen so far, without GLOBAL.
   *
   * @return the modes
   */
  public List<Mode> modes() {
    long[] modes = handle.get(trial -> Lists.takeSteps(Raw.smd_trial_modes(trial)));
    return Arrays.stream(modes).mapToObj(Mode::of).toList();
  }

  /**
   * What a global step was.
   *
   * @param globalStep the step
   * @return its mode and its number there, or null if it was not seen
   */
  public ModeStep modeStep(long globalStep) {
    long both = handle.number(trial -> Raw.smd_trial_mode_step(trial, globalStep));
    return both < 0 ? null : new ModeStep(Mode.of(both % 8), both / 8);
  }

  /**
   * A step by the number it has in its mode.
   *
   * @param mode the mode
   * @param step the number
   */
  public record ModeStep(Mode mode, long step) {}

  /**
   * The global number of a mode's step.
   *
   * @param mode the mode
   * @param modeStep the step
   * @return its number, or -1 if it was not seen
   */
  public long globalStep(Mode mode, long modeStep) {
    return handle.number(trial -> Raw.smd_trial_global_step(trial, mode.number(), modeStep));
  }

  // ---- workers, collections, tensors ----------------------------------------

  /**
   * The workers that recorded, sorted.
   *
   * @return their names
   */
  public List<String> workers() {
    return handle.get(trial -> Lists.takeStrings(Raw.smd_trial_workers(trial)));
  }

  /**
   * The names of all collections.
   *
   * @return the names
   */
  public List<String> collectionNames() {
    return handle.get(trial -> Lists.takeStrings(Raw.smd_trial_collections(trial)));
  }

  /**
   * The collection of a name, made (empty) if missing.
   *
   * @param name the name
   * @return the collection, shared with the trial
   */
  public Collection collection(String name) {
    return handle.get(trial -> new Collection(Raw.smd_trial_collection(trial, name)));
  }

  /**
   * The names of all tensors saved so far, sorted.
   *
   * @return the names
   */
  public List<String> tensorNames() {
    return names(-1, Mode.GLOBAL, null, null);
  }

  /**
   * The names of the tensors saved at a step.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @return the names, sorted
   */
  public List<String> tensorNamesAt(long step, Mode mode) {
    return names(step, mode, null, null);
  }

  /**
   * The names in which a regular expression is found.
   *
   * @param regexes the expressions; any of them will do
   * @return the names, sorted
   */
  public List<String> tensorNamesMatching(String... regexes) {
    return names(-1, Mode.GLOBAL, List.of(regexes), null);
  }

  /**
   * The names of the tensors in a collection.
   *
   * @param collection its name
   * @return the names, sorted
   */
  public List<String> tensorNamesIn(String collection) {
    return tensorNamesIn(collection, -1, Mode.GLOBAL);
  }

  /**
   * The names of the tensors in a collection that were saved at a step.
   *
   * @param collection its name
   * @param step the step
   * @param mode the mode whose number it is
   * @return the names, sorted
   */
  public List<String> tensorNamesIn(String collection, long step, Mode mode) {
    try (Collection condition = collection(collection)) {
      return names(step, mode, null, condition);
    }
  }

  private List<String> names(long step, Mode mode, List<String> regexes, Collection collection) {
    return handle.get(
        trial ->
            Lists.with(
                regexes,
                list ->
                    collection == null
                        ? names(trial, step, mode, list, 0)
                        : collection.handle().get(raw -> names(trial, step, mode, list, raw))));
  }

  private static List<String> names(
      long trial, long step, Mode mode, long regexes, long collection) {
    return Lists.takeStrings(
        Raw.smd_trial_tensor_names(trial, step, mode.number(), regexes, collection));
  }

  /**
   * The tensor of a name, which lives as long as the trial.
   *
   * @param name the name
   * @return the tensor
   * @throws TensorUnavailableException if none of that name was saved so far
   */
  public Tensor tensor(String name) {
    return handle.get(
        trial ->
            tensors.computeIfAbsent(
                name, key -> new Tensor(key, Raw.smd_trial_tensor(trial, key))));
  }

  /**
   * Whether a tensor of a name was saved so far.
   *
   * @param name the name
   * @return true if so
   */
  public boolean hasTensor(String name) {
    try {
      tensor(name);
      return true;
    } catch (TensorUnavailableException error) {
      return false;
    }
  }

  /**
   * Reads values of several tensors at several steps at once, which pays where each is a request;
   * {@link Tensor#value} then gives each out once from memory.
   *
   * @param tensors names of tensors
   * @param mode the mode whose numbers the steps are
   * @param steps the steps
   */
  public void prefetch(Iterable<String> tensors, Mode mode, long... steps) {
    handle.run(
        trial ->
            Lists.with(tensors, list -> Raw.smd_trial_prefetch(trial, list, steps, mode.number())));
  }

  /**
   * Writes what the trial holds now for stock TensorBoard: tensors of one element as scalars, of
   * others a histogram and statistics over the steps. Each mode is a run; with several workers each
   * worker of it.
   *
   * @param folder where the files go; those of an earlier call are overwritten
   */
  public void exportTensorboard(Path folder) {
    handle.run(trial -> Raw.smd_trial_export_tensorboard(trial, folder.toString()));
  }

  // ---- rules ----------------------------------------------------------------

  /**
   * Judges all global steps, waiting for those to come until the job ends.
   *
   * @param rule the rule
   * @return the steps at which its condition holds; findFirst() judges no step after that
   */
  public LongStream findings(Rule rule) {
    return findings(rule, 0, Long.MAX_VALUE);
  }

  /**
   * Judges the global steps first &lt;= step &lt; end, waiting for those to come. The trial does
   * not change while the rule judges a step. A step that lacks what the rule asks for ({@link
   * DataUnavailableException}) is passed over; any other exception of the rule ends the stream and
   * arrives unchanged.
   *
   * @param rule the rule
   * @param first the first step
   * @param end the step before which to stop
   * @return the steps at which its condition holds; findFirst() judges no step after that
   */
  public LongStream findings(Rule rule, long first, long end) {
    return follow(Mode.GLOBAL, first, end).filter(step -> judge(rule, step));
  }

  private boolean judge(Rule rule, long step) {
    standStill();
    try {
      return rule.invokeAtStep(this, step);
    } catch (DataUnavailableException error) {
      return false;
    } finally {
      moveOn();
    }
  }

  /** Several threads may judge at once: the first switches refreshing off, the last on again. */
  private void standStill() {
    synchronized (refreshLock) {
      if (judging == 0) {
        refreshesAfterJudging = setAutoRefresh(false);
      }
      ++judging;
    }
  }

  private void moveOn() {
    synchronized (refreshLock) {
      --judging;
      if (judging == 0 && !handle.isClosed()) {
        setAutoRefresh(refreshesAfterJudging);
      }
    }
  }

  /** Frees the trial and its tensors. Calls that are under way end as usual; values stay. */
  @Override
  public void close() {
    handle.close();
    tensors.values().forEach(Tensor::close);
    tensors.clear();
  }

  @Override
  public String toString() {
    return handle.isClosed() ? "Trial(closed)" : "Trial(" + path() + ")";
  }

  Handle handle() {
    return handle;
  }
}
