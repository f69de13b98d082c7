package org.smdebug;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Options that are set by name; those of S3 begin with "s3_" and are explained in docs/s3.md.
 *
 * @param <B> the class that is described further
 */
public abstract sealed class Options<B extends Options<B>> permits Hook.Builder, Trial.Builder {
  private final Map<String, String> values = new LinkedHashMap<>();

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

  final void setAll(BiConsumer<String, String> set) {
    values.forEach(set);
  }
}
