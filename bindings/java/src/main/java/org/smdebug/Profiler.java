package org.smdebug;

import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.time.Duration;
import org.smdebug.raw.Raw;

/**
 * Records where the time of a job goes: a timeline of events, and samples of the machine. Safe for
 * use by several threads.
 *
 * <pre>{@code
 * try (Profiler profiler = Profiler.builder("profile").build()) {
 *   try (Profiler.Span span = profiler.span("load", "DataLoaderIter", step)) {
 *     batch = batches.next();
 *   }
 * }
 * }</pre>
 */
public final class Profiler implements AutoCloseable {
  /** The step of an event that belongs to none. */
  public static final long NO_STEP = -1;

  /** Frees forgotten profilers, which may wait for a disk or a server. */
  private static final Cleaner CLEANER = Cleaner.create();

  private final Handle handle;

  private Profiler(long address) {
    handle = new Handle(this, "the profiler", address, Raw::smd_profiler_free, CLEANER);
  }

  /**
   * Returns a builder for a profiler.
   *
   * @param outDir the folder of the profile, or s3://bucket/prefix
   * @return the builder
   */
  public static Builder builder(String outDir) {
    return builder().option("out_dir", outDir);
  }

  /**
   * Returns a builder for a profiler that records into a folder.
   *
   * @param outDir the folder of the profile
   * @return the builder
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static Builder builder(Path outDir) {
    return builder(Folders.textOf(outDir));
  }

  /**
   * Returns a builder for a profiler that follows a configuration, which names the folder.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Configures a profiler. */
  public static final class Builder extends Options<Builder> {
    private Builder() {}

    @Override
    Builder self() {
      return this;
    }

    /**
     * Samples the machine.
     *
     * @param interval 100, 200 or 500 milliseconds, 1, 5 or 60 seconds
     * @return this
     */
    public Builder sampleEvery(Duration interval) {
      return option("sample_milliseconds", Long.toString(interval.toMillis()));
    }

    /**
     * Opens the profiler.
     *
     * @return the profiler
     * @throws InvalidConfigException if an option is invalid
     */
    public Profiler build() {
      long options = apply();
      try {
        return new Profiler(Raw.smd_profiler_new(options));
      } finally {
        Raw.smd_profiler_options_free(options);
      }
    }

    /**
     * Opens a profiler that follows the configuration file of the training service. Events are
     * dropped while the file is missing, or switches profiling off.
     *
     * @param path the file; if null, SMPROFILER_CONFIG_PATH names it, or else it is the service's
     *     file
     * @return the profiler
     * @throws InvalidConfigException if the file is not a JSON object
     */
    public Profiler follow(Path path) {
      long options = apply();
      try {
        return new Profiler(
            Raw.smd_profiler_follow(path == null ? "" : path.toString(), options));
      } finally {
        Raw.smd_profiler_options_free(options);
      }
    }

    private long apply() {
      long options = Raw.smd_profiler_options_new();
      try {
        setLog(options, OF_PROFILER);
        setAll((name, value) -> Raw.smd_profiler_options_set(options, name, value));
        return options;
      } catch (RuntimeException | Error thrown) {
        Raw.smd_profiler_options_free(options);
        throw thrown;
      }
    }
  }

  /** An event that lasts until it is closed. */
  public static final class Span implements AutoCloseable {
    private final Profiler profiler;
    private final String name;
    private final String phase;
    private final long step;
    private final long begin;
    private boolean isOver;

    private Span(Profiler profiler, String name, String phase, long step) {
      this.profiler = profiler;
      this.name = name;
      this.phase = phase;
      this.step = step;
      begin = profiler.now();
    }

    /** Ends and records the event. A second call does nothing. */
    @Override
    public void close() {
      if (!isOver) {
        isOver = true;
        profiler.event(name, phase, step, begin, profiler.now() - begin);
      }
    }
  }

  /**
   * Begins an event now.
   *
   * @param name what happens
   * @param phase the group of the event
   * @param step its step, or NO_STEP
   * @return the event, to be closed when it ends, on any thread
   */
  public Span span(String name, String phase, long step) {
    return new Span(this, name, phase, step);
  }

  /**
   * Records an event of this thread.
   *
   * @param name what happened
   * @param phase the group of the event
   * @param step its step, or NO_STEP
   * @param begin when it began, in microseconds since 1970, as {@link #now} returns them
   * @param duration the microseconds that it took
   */
  public void event(String name, String phase, long step, long begin, long duration) {
    event(name, phase, step, begin, duration, null);
  }

  /**
   * Records an event of this thread with arguments.
   *
   * @param name what happened
   * @param phase the group of the event
   * @param step its step, or NO_STEP
   * @param begin when it began, in microseconds since 1970
   * @param duration the microseconds that it took
   * @param args the text of a JSON object; null: none
   */
  public void event(
      String name, String phase, long step, long begin, long duration, String args) {
    handle.run(raw -> Raw.smd_profiler_event(raw, name, phase, step, begin, duration, args));
  }

  /**
   * Records a moment: now.
   *
   * @param name what happened
   * @param phase its group
   * @param step its step, or NO_STEP
   */
  public void instant(String name, String phase, long step) {
    handle.run(raw -> Raw.smd_profiler_instant(raw, name, phase, step, null));
  }

  /**
   * Returns the time of events.
   *
   * @return microseconds since 1970, which never decrease
   */
  public long now() {
    return handle.number(Raw::smd_profiler_now);
  }

  /**
   * Rereads the configuration file if it changed. Call this between steps.
   *
   * @return true if events are recorded
   */
  public boolean update() {
    return handle.number(Raw::smd_profiler_update) != 0;
  }

  /**
   * Returns true if the configuration selects a feature at this step, now.
   *
   * @param feature "detailed", "dataloader", "python", "smdataparallel" or "horovod"
   * @param step the step
   * @return true if it does; false for any other feature
   */
  public boolean isActive(String feature, long step) {
    return handle.number(raw -> Raw.smd_profiler_is_active(raw, feature, step, null)) == 1;
  }

  /**
   * Returns a count.
   *
   * @param name "events_written", "events_dropped", "files_written", "bytes_written" or "samples"
   * @return the count, or -1 for other names
   */
  public long count(String name) {
    return handle.number(raw -> Raw.smd_profiler_count(raw, name));
  }

  /**
   * Ends the open files, so that readers see all events so far.
   *
   * @param timeout the longest wait; null for no limit
   * @throws InterruptedException if the thread is interrupted; writing continues
   * @throws WaitTimeoutException if the timeout expires
   */
  public void flush(Duration timeout) throws InterruptedException {
    Slices.await(
        milliseconds -> handle.run(raw -> Raw.smd_profiler_flush(raw, milliseconds)),
        timeout,
        "the profiler has not written everything");
  }

  /**
   * Writes everything and marks the profile as finished. A second call does nothing.
   *
   * @throws SmdebugException the first error of the writing threads that no earlier call has thrown
   */
  @Override
  public void close() {
    if (handle.isClosed()) {
      return;
    }
    try {
      handle.run(Raw::smd_profiler_close);
    } finally {
      handle.close();
    }
  }
}
