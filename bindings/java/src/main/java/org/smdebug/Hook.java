package org.smdebug;

import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.smdebug.raw.Raw;

/**
 * Records the tensors of a running job. Safe for use by several threads; the open step belongs to
 * the hook, not to a thread. Close the hook: only then does the trial have an end marker.
 *
 * <p>Errors of the disk or the network never stop a training. They are kept, and {@link #flush} and
 * {@link #close} throw them.
 */
public final class Hook extends TensorSink implements AutoCloseable {
  /**
   * Frees forgotten hooks. That writes their queued steps, and may wait for a disk or a server;
   * other handles do not wait for it.
   */
  private static final Cleaner CLEANER = Cleaner.create();
  static final long NO_STEP = -1;

  private final Handle handle;
  private volatile long openStep = NO_STEP;

  private Hook(long address) {
    super(INTO_STEP);
    handle = new Handle(this, "the hook", address, Raw::smd_hook_free, CLEANER);
  }

  /**
   * Returns a builder for a hook.
   *
   * @param outDir the folder of the trial, or s3://bucket/prefix; if null, the configuration
   *     selects it
   * @return the builder
   */
  public static Builder builder(String outDir) {
    return new Builder(outDir);
  }

  /**
   * Returns a builder for a hook that records into a folder.
   *
   * @param outDir the folder of the trial
   * @return the builder
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static Builder builder(Path outDir) {
    return builder(Folders.textOf(outDir));
  }

  /** {@return a builder for a hook whose folder the configuration selects} */
  public static Builder builder() {
    return new Builder(null);
  }

  /** Configures a hook. */
  public static final class Builder extends Options<Builder> {
    private final List<Collection> collections = new ArrayList<>();
    private final List<String> regexes = new ArrayList<>();
    private String configuration;
    private SaveConfig saveConfig;
    private ReductionConfig reductionConfig;

    private Builder(String outDir) {
      if (outDir != null) {
        option("out_dir", outDir);
      }
      option("report_errors", "late");
    }

    @Override
    Builder self() {
      return this;
    }

    /**
     * Reads a configuration file as a training service passes it to a job. Options set on this
     * builder take precedence over the file.
     *
     * @param path the file; if null, SMDEBUG_CONFIG_FILE_PATH names it, or else it is the service's
     *     file
     * @return this
     */
    public Builder configuration(Path path) {
      configuration = path == null ? "" : path.toString();
      return this;
    }

    /**
     * Sets the name of this process ("worker_0"), if several processes record into one trial.
     *
     * @param name the name
     * @return this
     */
    public Builder worker(String name) {
      return option("worker", name);
    }

    /**
     * Sets the number of processes that record into the trial.
     *
     * @param count the number, including this process
     * @return this
     */
    public Builder workers(int count) {
      return option("num_workers", Integer.toString(count)).option("include_workers", "all");
    }

    /**
     * Selects collections to save in addition to the losses.
     *
     * @param names their names
     * @return this
     */
    public Builder includeCollections(String... names) {
      return addNames("include_collections", names);
    }

    /**
     * Includes every tensor whose name contains a match of the regular expression.
     *
     * @param regex the expression
     * @return this
     */
    public Builder includeRegex(String regex) {
      regexes.add(regex);
      return this;
    }

    /**
     * Saves every tensor.
     *
     * @return this
     */
    public Builder saveAll() {
      return option("save_all", "true");
    }

    /**
     * Also exports scalars and histograms for TensorBoard, into "tensorboard" in the trial's
     * folder.
     *
     * @return this
     */
    public Builder exportTensorboard() {
      return option("export_tensorboard", "true");
    }

    /**
     * Also exports scalars and histograms for TensorBoard into a folder.
     *
     * @param folder the folder
     * @return this
     */
    public Builder tensorboardDir(Path folder) {
      return option("tensorboard_dir", folder.toString());
    }

    /**
     * Sets the save config of collections that have none of their own.
     *
     * @param config the config
     * @return this
     */
    public Builder saveConfig(SaveConfig config) {
      saveConfig = config;
      return this;
    }

    /**
     * Sets the reduction config of collections that have none of their own.
     *
     * @param config the config
     * @return this
     */
    public Builder reductionConfig(ReductionConfig config) {
      reductionConfig = config;
      return this;
    }

    /**
     * Adds a collection, which the hook then shares. It replaces a built-in collection with the
     * same name.
     *
     * @param collection the collection
     * @return this
     */
    public Builder collection(Collection collection) {
      collections.add(collection);
      return this;
    }

    /**
     * Starts recording. Nothing is written before the first tensor.
     *
     * @return the hook
     * @throws TrialExistsException if the path already holds a finished trial
     * @throws InvalidConfigException if an option is invalid
     */
    public Hook build() {
      long options = Raw.smd_hook_options_new();
      try {
        apply(options);
        Hook hook = new Hook(Raw.smd_hook_new(options));
        hook.handle.run(Raw::smd_hook_describe_run);
        return hook.setMetadata("run.java", System.getProperty("java.version", ""));
      } finally {
        Raw.smd_hook_options_free(options);
      }
    }

    private void apply(long options) {
      // The log comes first: it receives warnings about the configuration.
      setLog(options, OF_HOOK);
      if (configuration != null) {
        Raw.smd_hook_options_load(options, configuration);
      }
      setAll((name, value) -> Raw.smd_hook_options_set(options, name, value));
      for (String regex : regexes) {
        Raw.smd_hook_options_include_regex(options, regex);
      }
      if (saveConfig != null) {
        saveConfig.use(config -> Raw.smd_hook_options_set_save_config(options, config));
      }
      if (reductionConfig != null) {
        reductionConfig.use(config -> Raw.smd_hook_options_set_reduction_config(options, config));
      }
      for (Collection collection : collections) {
        collection.handle().run(raw -> Raw.smd_hook_options_add_collection(options, raw));
      }
    }
  }

  /**
   * Sets the mode of the following steps. An open step keeps its mode.
   *
   * @param mode the mode
   */
  public void setMode(Mode mode) {
    handle.run(hook -> Raw.smd_hook_set_mode(hook, mode.number()));
  }

  /**
   * Records a text about the job for {@link Trial#metadata()}; replaces an earlier one of the key.
   *
   * @param key the key, of up to 256 bytes
   * @param value the text, of up to 64 KiB
   * @return this
   */
  public Hook setMetadata(String key, String value) {
    handle.run(hook -> Raw.smd_hook_set_metadata(hook, key, value));
    return this;
  }

  /** {@return the mode that was set last, or GLOBAL if none was} */
  public Mode mode() {
    return Mode.of(handle.number(Raw::smd_hook_mode));
  }

  /**
   * Begins the next step of a mode as a scope:
   *
   * <pre>{@code
   * try (Step step = hook.step(Mode.TRAIN)) {
   *   hook.save("loss", loss);
   *   step.end();
   * }
   * }</pre>
   *
   * <p>If a scope is left without {@link Step#end}, for example by an exception, the step is
   * discarded.
   *
   * @param mode the mode, which is set for the following steps too
   * @return the open step
   * @throws IllegalStateException if a step is open
   */
  public Step step(Mode mode) {
    return new Step(this, beginStep(mode));
  }

  /**
   * Runs one step of a mode: begins it, runs the body and ends it. If the body throws, the step is
   * discarded.
   *
   * @param mode the mode, which also becomes the mode of the following steps
   * @param body saves the step's tensors; receives the step's global number
   * @param <E> the exception that the body may throw
   * @throws E if the body throws it
   * @throws IllegalStateException if a step is open
   */
  public <E extends Exception> void step(Mode mode, StepBody<E> body) throws E {
    try (Step step = step(mode)) {
      body.run(step.globalStep());
      step.end();
    }
  }

  /**
   * The body of a step.
   *
   * @param <E> the exception that it may throw
   */
  @FunctionalInterface
  public interface StepBody<E extends Exception> {
    /**
     * Saves the step's tensors.
     *
     * @param globalStep the step's global number
     * @throws E if saving fails; the step is then discarded
     */
    void run(long globalStep) throws E;
  }

  /**
   * Begins the next step of a mode. Use it if a scope does not fit; see {@link #step(Mode)}.
   *
   * @param mode the mode, which also becomes the mode of the following steps
   * @return the step's global number
   */
  public long beginStep(Mode mode) {
    setMode(mode);
    return beginStep();
  }

  /**
   * Begins the next step of the current mode.
   *
   * @return the step's global number
   * @throws IllegalStateException if a step is open
   */
  public long beginStep() {
    long step = handle.number(Raw::smd_hook_begin_step);
    openStep = step;
    return step;
  }

  /**
   * Ends the step. Soon afterwards, readers see everything it saved at once.
   *
   * @throws IllegalStateException if no step is open
   */
  public void endStep() {
    openStep = NO_STEP;
    handle.run(Raw::smd_hook_end_step);
  }

  /**
   * Closes the open step without recording it. Its numbers stay used. Scalars and tensors saved
   * {@link #into} collections are kept for the next step that saves anything.
   *
   * @throws IllegalStateException if no step is open
   */
  public void discardStep() {
    openStep = NO_STEP;
    handle.run(Raw::smd_hook_discard_step);
  }

  /**
   * Returns the last step begun in a mode.
   *
   * @param mode the mode; GLOBAL for all modes
   * @return its number, or -1 if there was none
   */
  public long lastStep(Mode mode) {
    return handle.number(hook -> Raw.smd_hook_last_step(hook, mode.number()));
  }

  /**
   * Makes the open step also save these collections, whatever their save configs select. Use it for
   * decisions that the job makes during a step, such as at the end of an epoch.
   *
   * @param collections their names
   * @throws IllegalStateException if no step is open
   */
  public void addToStep(String... collections) {
    handle.run(
        hook -> Lists.with(List.of(collections), list -> Raw.smd_hook_add_to_step(hook, list)));
  }

  /** {@return true if the open step saves anything} */
  public boolean savesStep() {
    return handle.number(Raw::smd_hook_saves_step) != 0;
  }

  /**
   * Returns true if the open step saves a tensor. Call this before computing an expensive tensor.
   *
   * @param tensor its name
   * @return true if it does; false if no step is open
   */
  public boolean wants(String tensor) {
    return handle.number(hook -> Raw.smd_hook_wants(hook, tensor)) != 0;
  }

  /**
   * Returns a sink whose tensors belong to the given collections, whatever their names. They are
   * saved with the next step that saves anything; no step needs to be open.
   *
   * @param collections the names of the collections; missing ones are created
   * @return the sink
   */
  public TensorSink into(String... collections) {
    return new CollectionSink(this, List.of(collections));
  }

  /**
   * Saves the selected reductions and the shape of a tensor in the open step from figures that the
   * caller computed. Attached rules get the figures too, and statistics of the elements if the
   * counts, VARIANCE, SUM, L1, L2, MIN and MAX are given.
   *
   * @param name its name
   * @param statistics the figures
   * @throws IllegalArgumentException if a selected reduction is not given
   * @throws SmdebugException with UNSUPPORTED if a collection selects the raw value
   * @throws IllegalStateException if no step is open
   */
  public void saveStatistics(String name, Statistics statistics) {
    saveStatistics(name, statistics, false, 0);
  }

  /**
   * Expects a tensor of the open step to come late, for example from an accelerator; see {@link
   * #late}. {@link #endStep} returns at once. The step is written, and evaluated by attached rules,
   * when all its expected tensors have come; later steps wait for it. At most 16 ended steps wait:
   * then the oldest is completed without what is missing, which the next call reports.
   *
   * @param name its name
   * @return what the step saves of it; if nothing, the tensor is not expected
   * @throws IllegalStateException if no step is open
   */
  public ExpectedParts expect(String name) {
    return new ExpectedParts((int) handle.number(hook -> Raw.smd_hook_expect(hook, name)));
  }

  /**
   * Returns a sink for the expected tensors of a step, which may have ended.
   *
   * @param globalStep the step
   * @return the sink
   */
  public LateStep late(long globalStep) {
    return new LateStep(this, globalStep);
  }

  /**
   * Saves one number as the tensor "scalar/&lt;name&gt;" with the next step that saves anything.
   *
   * @param name its name
   * @param value the number
   */
  public void saveScalar(String name, double value) {
    saveArrayAs(AS_SCALAR, name, new double[] {value}, 'D', DType.FLOAT64, 0, 1, new long[] {1});
  }

  /**
   * Returns the hook's collection with a name. Changes to it take effect with the next step.
   *
   * @param name the name
   * @return the collection, shared with the hook
   * @throws SmdebugException with NOT_FOUND if the hook has no such collection
   */
  public Collection collection(String name) {
    return handle.get(hook -> new Collection(Raw.smd_hook_collection(hook, name)));
  }

  /**
   * Returns the hook's collection with a name; creates a missing collection.
   *
   * @param name the name
   * @return the collection, shared with the hook
   */
  public Collection ensureCollection(String name) {
    return handle.get(hook -> new Collection(Raw.smd_hook_ensure_collection(hook, name)));
  }

  /** {@return the names of all collections, in order of creation} */
  public List<String> collectionNames() {
    return handle.get(hook -> Lists.takeStrings(Raw.smd_hook_collections(hook)));
  }

  /**
   * Attaches a rule set. From the next step on, its rules evaluate every step as it ends, or the
   * steps that the rule set's save config selects, even if the hook does not save them. {@link
   * #wants} then also returns true for the tensors that the rules evaluate. Replaces the rule set
   * attached before.
   *
   * @param rules the rule set; it may be closed afterwards
   * @throws IllegalStateException if a step is open, or the rule set belongs to a trial or another
   *     hook
   * @throws IllegalArgumentException if the rule set has a {@link RuleFunction}, which reads a
   *     trial
   */
  public void attach(RuleSet rules) {
    handle.run(hook -> rules.handle().run(raw -> Raw.smd_hook_attach(hook, raw)));
  }

  /** {@return the action that the findings of the last step recommend} */
  public Action action() {
    return Action.of((int) handle.number(Raw::smd_hook_action));
  }

  /** {@return the findings since the last call} */
  public List<Finding> takeFindings() {
    return handle.get(hook -> Finding.take(Raw.smd_hook_take_findings(hook)));
  }

  /**
   * Returns true if this process writes. If the process is not included, or another process already
   * records, the hook accepts every call and writes nothing.
   *
   * @return true if it writes
   */
  public boolean isRecording() {
    return handle.number(Raw::smd_hook_is_recording) != 0;
  }

  /**
   * Returns a counter of the hook.
   *
   * @param name steps_written, steps_dropped, steps_failed, tensors_written, bytes_written,
   *     bytes_queued (the current size of the queue) or selections (as long as it is the same,
   *     steps want the same tensors)
   * @return the count, or -1 for an unknown name
   */
  public long count(String name) {
    return handle.number(hook -> Raw.smd_hook_count(hook, name));
  }

  /**
   * Waits until every ended step is written.
   *
   * @throws InterruptedException if the thread is interrupted; writing continues
   * @throws SmdebugException the first background error that was not yet thrown
   */
  public void flush() throws InterruptedException {
    flush(null);
  }

  /**
   * Waits until every ended step is written.
   *
   * @param timeout the longest wait; null for no limit
   * @throws InterruptedException if the thread is interrupted; writing continues
   * @throws WaitTimeoutException if the timeout expires
   * @throws SmdebugException the first background error that was not yet thrown
   */
  public void flush(Duration timeout) throws InterruptedException {
    Slices.await(
        milliseconds -> handle.run(hook -> Raw.smd_hook_flush(hook, milliseconds)),
        timeout,
        "the hook has not written everything");
  }

  /**
   * Ends an open step, writes all queued steps and the end marker. A second call does nothing.
   *
   * @throws SmdebugException the first background error that was not yet thrown; the hook is closed
   *     even then
   * @throws IllegalStateException if that error is a missing late tensor
   */
  @Override
  public void close() {
    openStep = NO_STEP;
    try {
      handle.run(Raw::smd_hook_close);
    } catch (IllegalStateException failure) {
      // An error of the library, such as a missing late tensor, has a cause; a closed handle has
      // none.
      if (failure.getCause() != null) {
        throw failure;
      }
    } finally {
      handle.close();
    }
  }

  Handle handle() {
    return handle;
  }

  @Override
  Hook hook() {
    return this;
  }

  @Override
  List<String> collections() {
    return null;
  }

  /** {@return the global number of the open step, or NO_STEP} */
  long openStep() {
    return openStep;
  }
}
