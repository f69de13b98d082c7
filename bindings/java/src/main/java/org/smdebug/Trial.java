package org.smdebug;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.stream.LongStream;
import org.smdebug.raw.Raw;

/**
 * The recording of a job, finished or still running. While {@link #autoRefresh(boolean)} is on,
 * every query first reads what was recorded since the last query. Safe for use by several threads.
 */
public final class Trial implements AutoCloseable {
  private static final long ANY_STEP = -1; // the condition that is none

  private final Handle handle;

  private final Object refreshLock = new Object();
  private int judging;
  private boolean refreshesAfterJudging;

  private Trial(long address) {
    handle = new Handle(this, "the trial", address, Raw::smd_trial_free);
  }

  /**
   * Opens a trial; waits until something is recorded (option "wait_seconds").
   *
   * @param path its folder, or s3://bucket/prefix
   * @return the trial
   * @throws MissingCollectionsException if nothing was recorded there
   * @throws CancelledException if the thread is interrupted; its interrupt status stays set
   */
  public static Trial open(String path) {
    return builder(path).open();
  }

  /**
   * Returns a builder that opens a trial.
   *
   * @param path its folder, or s3://bucket/prefix
   * @return the builder
   */
  public static Builder builder(String path) {
    return new Builder(path);
  }

  /**
   * Opens a trial in a folder, as {@link #open(String)} does.
   *
   * @param folder its folder
   * @return the trial
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static Trial open(Path folder) {
    return builder(folder).open();
  }

  /**
   * Returns a builder that opens a trial in a folder.
   *
   * @param folder its folder
   * @return the builder
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static Builder builder(Path folder) {
    return builder(Folders.textOf(folder));
  }

  /** Configures how a trial is opened. */
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
     * Sets the name of the trial; the default is the last part of the path.
     *
     * @param name the name
     * @return this
     */
    public Builder name(String name) {
      return option("name", name);
    }

    /**
     * Restricts the trial to some global steps.
     *
     * @param first the first step
     * @param end the step before which to stop
     * @return this
     */
    public Builder range(long first, long end) {
      return option("first_step", Long.toString(first)).option("end_step", Long.toString(end));
    }

    /**
     * Limits the wait for the first recorded data; the default is 600 s.
     *
     * @param timeout the longest wait, in whole seconds
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
     * @throws CancelledException if the thread is interrupted; its interrupt status stays set
     */
    public Trial open() {
      long options = Raw.smd_trial_options_new();
      Trial trial;
      try {
        setAll((name, value) -> Raw.smd_trial_options_set(options, name, value));
        setLog(options, OF_TRIAL);
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

  /** {@return the path as it was given} */
  public String path() {
    return handle.get(Raw::smd_trial_path);
  }

  /** {@return the name that was given, or the last part of the path} */
  public String name() {
    return handle.get(Raw::smd_trial_name);
  }

  /** Reads what was recorded since the last refresh. */
  public void refresh() {
    handle.run(Raw::smd_trial_refresh);
  }

  /**
   * Selects whether queries refresh the trial; the default is true.
   *
   * @param on true to refresh
   * @return the previous setting
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

  /** {@return true if the job has ended and the trial has read everything it recorded} */
  public boolean hasEnded() {
    return handle.number(Raw::smd_trial_has_ended) != 0;
  }

  /** {@return the last complete global step} */
  public long lastCompleteStep() {
    return handle.number(Raw::smd_trial_last_complete_step);
  }

  // ---- steps ----------------------------------------------------------------

  /** {@return the available steps by their global numbers} */
  public LongStream steps() {
    return steps(Mode.GLOBAL);
  }

  /**
   * Returns the available steps of a mode.
   *
   * @param mode the mode
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode) {
    return steps(mode, false);
  }

  /**
   * Returns the steps of a mode.
   *
   * @param mode the mode
   * @param incompleteToo true to include steps that some worker has not written
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode, boolean incompleteToo) {
    return Arrays.stream(stepsNow(mode, incompleteToo));
  }

  long[] stepsNow(Mode mode, boolean incompleteToo) {
    return handle.get(
        trial -> Lists.takeIntegers(Raw.smd_trial_steps(trial, mode.number(), incompleteToo ? 1 : 0)));
  }

  /**
   * Returns the global steps from the first on; waits for steps until the job ends. An interrupt
   * ends the wait with a CancelledException; the interrupt status stays set.
   *
   * @return the steps, ascending, each as soon as it is available
   */
  public LongStream follow() {
    return follow(Mode.GLOBAL, 0);
  }

  /**
   * Returns the steps of a mode; waits as {@link #follow()} does.
   *
   * @param mode the mode
   * @param first the first step
   * @return the steps, ascending, each as soon as it is available
   */
  public LongStream follow(Mode mode, long first) {
    return follow(mode, first, Long.MAX_VALUE, false);
  }

  LongStream follow(Mode mode, long first, long end, boolean includesIncomplete) {
    return new LiveSteps(this, mode, first, end, includesIncomplete).stream();
  }

  /**
   * Waits until a step is available.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param timeout the longest wait; null for no limit
   * @throws InterruptedException if the thread is interrupted
   * @throws WaitTimeoutException if the timeout expires
   * @throws StepUnavailableException if the step was not saved
   * @throws NoMoreDataException if the job ended before the step
   */
  public void waitForStep(long step, Mode mode, Duration timeout) throws InterruptedException {
    Slices.await(
        milliseconds -> waitFor(step, mode, milliseconds),
        timeout,
        "step " + step + " of " + mode + " did not come");
  }

  /**
   * Waits until a global step is available; an interrupt ends the wait, and its status stays set.
   */
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
   * Returns the availability of a step.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @return the state
   */
  public StepState stepState(long step, Mode mode) {
    long state = handle.number(trial -> Raw.smd_trial_step_state(trial, step, mode.number()));
    return StepState.values()[(int) state];
  }

  /** {@return the modes of the steps seen so far, without GLOBAL} */
  public List<Mode> modes() {
    long[] modes = handle.get(trial -> Lists.takeIntegers(Raw.smd_trial_modes(trial)));
    return Arrays.stream(modes).mapToObj(Mode::of).toList();
  }

  /**
   * Returns the mode step and the mode of a global step.
   *
   * @param globalStep the step
   * @return its number in its mode and the mode, or null if the step was not seen
   */
  public ModeStep modeStep(long globalStep) {
    long both = handle.number(trial -> Raw.smd_trial_mode_step(trial, globalStep));
    return both < 0 ? null : new ModeStep(both / 8, Mode.of(both % 8));
  }

  /**
   * A step by its number in its mode.
   *
   * @param step the number
   * @param mode the mode
   */
  public record ModeStep(long step, Mode mode) {}

  /**
   * Returns the global number of a mode's step.
   *
   * @param modeStep the step
   * @param mode the mode
   * @return its number, or -1 if the step was not seen
   */
  public long globalStep(long modeStep, Mode mode) {
    return handle.number(trial -> Raw.smd_trial_global_step(trial, modeStep, mode.number()));
  }

  // ---- workers, collections, tensors ----------------------------------------

  /** {@return the sorted names of the workers that recorded} */
  public List<String> workers() {
    return handle.get(trial -> Lists.takeStrings(Raw.smd_trial_workers(trial)));
  }

  /**
   * Returns what the job recorded about itself. Of several workers, the first that has a key counts.
   *
   * @return texts by key, sorted
   */
  public SortedMap<String, String> metadata() {
    return handle.get(trial -> Lists.takeMap(Raw.smd_trial_metadata(trial, null)));
  }

  /** {@return the names of all collections} */
  public List<String> collectionNames() {
    return handle.get(trial -> Lists.takeStrings(Raw.smd_trial_collections(trial)));
  }

  /**
   * Returns the collection with a name.
   *
   * @param name the name
   * @return the collection, shared with the trial
   * @throws SmdebugException with NOT_FOUND if the trial has no such collection
   */
  public Collection collection(String name) {
    return handle.get(trial -> new Collection(Raw.smd_trial_collection(trial, name)));
  }

  /** {@return the sorted names of all tensors saved so far} */
  public List<String> tensorNames() {
    return names(ANY_STEP, Mode.GLOBAL, null, null);
  }

  /**
   * Returns the names of the tensors saved at a step.
   *
   * @param step the step; none was saved at a negative one
   * @param mode the mode that the step number belongs to
   * @return the names, sorted
   */
  public List<String> tensorNamesAt(long step, Mode mode) {
    return step < 0 ? List.of() : names(step, mode, null, null);
  }

  /**
   * Returns the names that contain a match of a regular expression.
   *
   * @param regexes the expressions; one match is enough
   * @return the names, sorted
   */
  public List<String> tensorNamesMatching(String... regexes) {
    return names(ANY_STEP, Mode.GLOBAL, List.of(regexes), null);
  }

  /**
   * Returns the names of the tensors in a collection.
   *
   * @param collection its name
   * @return the names, sorted
   */
  public List<String> tensorNamesIn(String collection) {
    try (Collection condition = collection(collection)) {
      return names(ANY_STEP, Mode.GLOBAL, null, condition);
    }
  }

  /**
   * Returns the names of the tensors in a collection that were saved at a step.
   *
   * @param collection its name
   * @param step the step; none was saved at a negative one
   * @param mode the mode that the step number belongs to
   * @return the names, sorted
   */
  public List<String> tensorNamesIn(String collection, long step, Mode mode) {
    try (Collection condition = collection(collection)) {
      return step < 0 ? List.of() : names(step, mode, null, condition);
    }
  }

  /**
   * Returns the names of the tensors saved at a step, in the order of recording: those of the first
   * worker, then those that only other workers saved. Tensors of which only the shape was saved
   * come last.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @return the names
   */
  public List<String> recordedNames(long step, Mode mode) {
    return handle.get(
        trial -> Lists.takeStrings(Raw.smd_trial_recorded_names(trial, step, mode.number())));
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
   * Returns the tensor with a name.
   *
   * @param name the name
   * @return the tensor; close it
   * @throws TensorUnavailableException if no such tensor has been saved
   */
  public Tensor tensor(String name) {
    return handle.get(trial -> new Tensor(name, Raw.smd_trial_tensor(trial, name)));
  }

  /**
   * Returns true if a tensor with a name has been saved.
   *
   * @param name the name
   * @return true if it has
   */
  public boolean hasTensor(String name) {
    try (Tensor found = tensor(name)) {
      return found != null;
    } catch (TensorUnavailableException error) {
      return false;
    }
  }

  /**
   * Reads values of several tensors at several steps at once, which is faster if each read is a
   * request. {@link Tensor#value} serves each prefetched value once from memory.
   *
   * @param tensors names of tensors
   * @param mode the mode that the step numbers belong to
   * @param steps the steps
   */
  public void prefetch(Iterable<String> tensors, Mode mode, long... steps) {
    handle.run(
        trial ->
            Lists.with(tensors, list -> Raw.smd_trial_prefetch(trial, list, steps, mode.number())));
  }

  /**
   * Writes the current content of the trial for stock TensorBoard. Tensors of one element become
   * scalars; all others become a histogram and statistics over the steps. Each mode is a run; with
   * several workers, each mode of each worker is.
   *
   * @param folder the output folder; files of an earlier call are overwritten
   */
  public void exportTensorboard(Path folder) {
    handle.run(trial -> Raw.smd_trial_export_tensorboard(trial, folder.toString()));
  }

  // ---- rules ----------------------------------------------------------------

  /**
   * Evaluates all global steps; waits for steps until the job ends.
   *
   * @param rule the rule
   * @return the steps at which its condition holds; findFirst() evaluates no step after that
   */
  public LongStream findings(Rule rule) {
    return findings(rule, 0, Long.MAX_VALUE);
  }

  /**
   * Evaluates the global steps first &lt;= step &lt; end; waits for steps that may still come. The
   * trial does not change while the rule evaluates a step. If the rule throws a {@link
   * DataUnavailableException}, the step is skipped; any other exception of the rule ends the stream
   * and is rethrown unchanged.
   *
   * @param rule the rule
   * @param first the first step
   * @param end the step before which to stop
   * @return the steps at which its condition holds; findFirst() evaluates no step after that
   */
  public LongStream findings(Rule rule, long first, long end) {
    return follow(Mode.GLOBAL, first, end, false).filter(step -> judge(rule, step));
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

  /** Looks for no steps while an action runs. */
  void still(Runnable action) {
    standStill();
    try {
      action.run();
    } finally {
      moveOn();
    }
  }

  /**
   * Several threads may evaluate at once: the first turns refreshing off, the last turns it on
   * again.
   */
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

  /** Frees the trial. Running calls complete; tensors and values stay valid. */
  @Override
  public void close() {
    handle.close();
  }

  @Override
  public String toString() {
    return handle.isClosed() ? "Trial(closed)" : "Trial(" + path() + ")";
  }

  Handle handle() {
    return handle;
  }
}
