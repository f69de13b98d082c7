package org.smdebug;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.smdebug.raw.Native;

/**
 * Options that are set by name. Those of S3 begin with "s3_"; docs/s3.md explains them.
 *
 * @param <B> the builder class
 */
public abstract sealed class Options<B extends Options<B>> permits Hook.Builder, Profiler.Builder, Trial.Builder {
  private final Map<String, String> values = new LinkedHashMap<>();
  private LogSink log;
  private System.Logger.Level logLevel;

  Options() {}

  abstract B self();

  /**
   * Sets an option by the name that it has in every language.
   *
   * @param name its name
   * @param value its value
   * @return this
   */
  public final B option(String name, String value) {
    values.put(name, value);
    return self();
  }

  /** Adds names to those that an option lists. */
  final B addNames(String option, String... names) {
    for (String name : names) {
      if (name.contains(",")) {
        throw new IllegalArgumentException(option + ": the name \"" + name + "\" has a comma");
      }
      values.merge(option, name, (before, next) -> before + "," + next);
    }
    return self();
  }

  /**
   * Sets several options.
   *
   * @param options values by name
   * @return this
   */
  public final B options(Map<String, String> options) {
    values.putAll(options);
    return self();
  }

  /**
   * Sends log lines to a sink instead of stderr.
   *
   * @param level the least severe level to receive; OFF for none
   * @param sink receives the lines; it should not refer to the hook or trial, because that would
   *     keep it alive
   * @return this
   */
  public final B log(System.Logger.Level level, LogSink sink) {
    logLevel = level;
    log = sink;
    return self();
  }

  final void setLog(long options, int kind) {
    if (log != null) {
      Native.setLog(options, kind, LogRelay.numberOf(logLevel), new LogRelay(log));
    }
  }

  /** Whose options a log is set of. */
  static final int OF_TRIAL = 0;

  static final int OF_HOOK = 1;
  static final int OF_PROFILER = 2;

  final void setAll(BiConsumer<String, String> set) {
    values.forEach(set);
  }
}
