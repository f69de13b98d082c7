package org.smdebug;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.smdebug.raw.Raw;

/**
 * Records the tensors of a running job. May be used from any thread; a step belongs to the hook,
 * not to a thread. Close it: only then the trial has its end.
 *
 * <p>What the disk or the network does in the background is no reason to stop a training: such an
 * error is kept for {@link #flush} and {@link #close}.
 */
public final class Hook extends TensorSink implements AutoCloseable {
  private final Handle handle;
  private volatile boolean isStepOpen;

  private Hook(long address) {
    super(INTO_STEP);
    handle = new Handle(this, "the hook", address, Raw::smd_hook_free);
  }

  /**
   * Begins to describe a hook.
   *
   * @param outDir the folder of the trial, or s3://bucket/prefix; null: what the configuration says
   * @return the description
   */
  public static Builder builder(String outDir) {
    return new Builder(outDir);
  }

  /** How a hook records. */
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
     * Takes the settings of a configuration file, as a training service hands it to a job, before
     * all that is set here.
     *
     * @param path the file; null: the one that SMDEBUG_CONFIG_FILE_PATH names, else the service's
     * @return this
     */
    public Builder configuration(Path path) {
      configuration = path == null ? "" : path.toString();
      return this;
    }

    /**
     * This process's name, where several record into one trial ("worker_0").
     *
     * @param name the name
     * @return this
     */
    public Builder worker(String name) {
      return option("worker", name);
    }

    /**
     * How many processes record into the trial, all of them.
     *
     * @param count how many
     * @return this
     */
    public Builder workers(int count) {
      return option("num_workers", Integer.toString(count)).option("include_workers", "all");
    }

    /**
     * Collections to save beside the losses.
     *
     * @param names their names
     * @return this
     */
    public Builder includeCollections(String... names) {
      return option("include_collections", String.join(",", names));
    }

    /**
     * Includes the tensors in whose names the regular expression is found.
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
     * Writes scalars and histograms for TensorBoard too, into "tensorboard" in the trial's folder.
     *
     * @return this
     */
    public Builder exportTensorboard() {
      return option("export_tensorboard", "true");
    }

    /**
     * Writes scalars and histograms for TensorBoard too.
     *
     * @param folder where they go
     * @return this
     */
    public Builder tensorboardDir(Path folder) {
      return option("tensorboard_dir", folder.toString());
    }

    /**
     * When to save what has no save config of its own.
     *
     * @param config the config
     * @return this
     */
    public Builder saveConfig(SaveConfig config) {
      saveConfig = config;
      return this;
    }

    /**
     * What to save of tensors that have no reduction config of their own.
     *
     * @param config the config
     * @return this
     */
    public Builder reductionConfig(ReductionConfig config) {
      reductionConfig = config;
      return this;
    }

    /**
     * Adds a collection, or takes the place of the built-in one of its name; shared with the hook.
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
     * @throws TrialExistsException if a finished trial lies there
     * @throws InvalidConfigException if an option makes no sense
     */
    public Hook build() {
      long options = Raw.smd_hook_options_new();
      try {
        apply(options);
        return new Hook(Raw.smd_hook_new(options));
      } finally {
        Raw.smd_hook_options_free(options);
      }
    }

    private void apply(long options) {
      if (configuration != null) {
        Raw.smd_hook_options_load(options, configuration);
      }
      setAll((name, value) -> Raw.smd_hook_options_set(options, name, value));
      setLog(options, true);
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
   * Says what the following steps are done for. An open step keeps its mode.
   *
   * @param mode the mode
   */
  public void setMode(Mode mode) {
    handle.run(hook -> Raw.smd_hook_set_mode(hook, mode.number()));
  }

  /**
   * The mode set last; GLOBAL at first.
   *
   * @return the mode
   */
  public Mode mode() {
    return Mode.of(handle.number(Raw::smd_hook_mode));
  }

  /**
   * Begins the next step of a mode.
   *
   * @param mode the mode, which is set for the following steps too
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
    isStepOpen = true;
    return step;
  }

  /**
   * Ends the step: what was saved becomes visible to readers as one piece, soon.
   *
   * @throws IllegalStateException if no step is open
   */
  public void endStep() {
    isStepOpen = false;
    handle.run(Raw::smd_hook_end_step);
  }

  /**
   * The last step begun in a mode.
   *
   * @param mode the mode; GLOBAL: of all
   * @return its number, or -1 if there was none
   */
  public long step(Mode mode) {
    return handle.number(hook -> Raw.smd_hook_step(hook, mode.number()));
  }

  /**
   * Makes the open step save these collections too, whatever their save configs say: what is only
   * known at an epoch's end.
   *
   * @param collections their names
   * @throws IllegalStateException if no step is open
   */
  public void addToStep(String... collections) {
    handle.run(
        hook -> Lists.with(List.of(collections), list -> Raw.smd_hook_add_to_step(hook, list)));
  }

  /**
   * Whether the open step saves anything at all.
   *
   * @return true if so; false if no step is open
   */
  public boolean savesStep() {
    return handle.number(Raw::smd_hook_saves_step) != 0;
  }

  /**
   * Whether the open step saves a tensor: ask before it is expensive to compute.
   *
   * @param tensor its name
   * @return true if so; false if no step is open
   */
  public boolean wants(String tensor) {
    return handle.number(hook -> Raw.smd_hook_wants(hook, tensor)) != 0;
  }

  /**
   * Where to save tensors that belong to collections whatever their names. They are saved with the
   * next step that saves anything; none need be open.
   *
   * @param collections the names of the collections, made if missing
   * @return where to save them
   */
  public TensorSink into(String... collections) {
    return new CollectionSink(this, List.of(collections));
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
   * The hook's collection of a name, made if missing; changes count from the next step on.
   *
   * @param name the name
   * @return the collection, shared with the hook
   */
  public Collection collection(String name) {
    return handle.get(hook -> new Collection(Raw.smd_hook_collection(hook, name)));
  }

  /**
   * The names of all collections, in the order they were made.
   *
   * @return the names
   */
  public List<String> collectionNames() {
    return handle.get(hook -> Lists.takeStrings(Raw.smd_hook_collections(hook)));
  }

  /**
   * Has a panel judge every step, or those it looks at, as it ends, from the next one on,
   * whatever is saved of it; {@link #wants} is then true for what its rules look at, too. Another
   * panel takes the place of the first.
   *
   * @param panel the rules; it may be closed meanwhile
   * @throws IllegalStateException if a step is open
   */
  public void watch(Panel panel) {
    handle.run(hook -> panel.handle().run(raw -> Raw.smd_hook_watch(hook, raw)));
  }

  /**
   * What the findings of the last step that ended ask for.
   *
   * @return the most severe action; CONTINUE if there were none
   */
  public Action advice() {
    return Action.of((int) handle.number(Raw::smd_hook_advice));
  }

  /**
   * The findings since the last call.
   *
   * @return the findings; of more than 10,000 the newest
   */
  public List<Verdict> takeVerdicts() {
    return handle.get(hook -> Verdict.take(Raw.smd_hook_take_verdicts(hook)));
  }

  /**
   * Whether this process writes. One that is not included, or comes second, takes every call and
   * writes nothing.
   *
   * @return true if it does
   */
  public boolean isRecording() {
    return handle.number(Raw::smd_hook_is_recording) != 0;
  }

  /**
   * A count since the hook was made.
   *
   * @param name steps_written, steps_dropped, steps_failed, tensors_written, bytes_written or
   *     bytes_queued (now)
   * @return the count; -1 for an unknown name
   */
  public long count(String name) {
    return handle.number(hook -> Raw.smd_hook_count(hook, name));
  }

  /**
   * Waits until every step that ended is written.
   *
   * @throws InterruptedException if the thread is interrupted; writing goes on
   * @throws SmdebugException the first error of the background not yet thrown
   */
  public void flush() throws InterruptedException {
    flush(null);
  }

  /**
   * Waits until every step that ended is written.
   *
   * @param timeout how long at most; null: without end
   * @throws InterruptedException if the thread is interrupted; writing goes on
   * @throws WaitTimeoutException if the time is over
   * @throws SmdebugException the first error of the background not yet thrown
   */
  public void flush(Duration timeout) throws InterruptedException {
    Slices.await(
        milliseconds -> handle.run(hook -> Raw.smd_hook_flush(hook, milliseconds)),
        timeout,
        "the hook has not written everything");
  }

  /**
   * Ends an open step, writes what waits, and the end of the trial. A second call does nothing.
   *
   * @throws SmdebugException the first error of the background not yet thrown; the hook is closed
   *     all the same
   */
  @Override
  public void close() {
    try {
      handle.run(Raw::smd_hook_close);
    } catch (IllegalStateException isClosed) {
      return;
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

  boolean isStepOpen() {
    return isStepOpen;
  }
}
