package org.smdebug;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.smdebug.raw.Native;

/**
 * Options that are set by name; those of S3 begin with "s3_" and are explained in docs/s3.md.
 *
 * @param <B> the class that is described further
 */
public abstract sealed class Options<B extends Options<B>> permits Hook.Builder, Trial.Builder {
  private final Map<String, String> values = new LinkedHashMap<>();
  private LogSink log;
  private System.Logger.Level logLevel;

  Options() {}

  abstract B self();

  /**
   * Sets an option by the name that every language has for it.
   *
   * @param name its name
   * @param value its value
   * @return this
   */
  public final B option(String name, String value) {
    values.put(name, value);
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
   * Takes log lines instead of stderr.
   *
   * @param level the least important to take; OFF for none
   * @param sink what takes them; it should not refer to the hook or trial, which it then keeps
   *     alive
   * @return this
   */
  public final B log(System.Logger.Level level, LogSink sink) {
    logLevel = level;
    log = sink;
    return self();
  }

  final void setLog(long options, boolean isOfHook) {
    if (log != null) {
      Native.setLog(options, isOfHook, LogRelay.numberOf(logLevel), new LogRelay(log));
    }
  }

  final void setAll(BiConsumer<String, String> set) {
    values.forEach(set);
  }
}
