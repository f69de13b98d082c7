package org.smdebug;

import java.util.function.LongFunction;
import org.smdebug.raw.Raw;

/**
 * Selects the steps of each mode that are saved. A mode without settings follows the hook's save
 * config, and finally the default: every 500th step. Immutable.
 */
public final class SaveConfig {
  private final String json;

  private SaveConfig(String json) {
    this.json = json;
  }

  /**
   * Saves every n-th step of every mode, counted from 0.
   *
   * @param every the interval; at least 1
   * @return the config
   */
  public static SaveConfig every(long every) {
    return unset().with(Mode.ANY, every);
  }

  /**
   * Returns a config without settings for any mode.
   *
   * @return the config
   */
  public static SaveConfig unset() {
    return take(Raw.smd_save_config_new());
  }

  /**
   * Reads a config as collections files store it.
   *
   * @param json the text
   * @return the config
   * @throws InvalidConfigException if the text is not a config
   */
  public static SaveConfig fromJson(String json) {
    return take(Raw.smd_save_config_from_json(json));
  }

  /**
   * Returns a copy that saves every n-th step of a mode.
   *
   * @param mode the mode, or ANY for all
   * @param every the interval; at least 1
   * @return the config
   */
  public SaveConfig with(Mode mode, long every) {
    return with(mode, every, 0, -1);
  }

  /**
   * Returns a copy with settings for a mode: step s is saved if it is among the steps, or if first
   * &lt;= s &lt; end and s is a multiple of every.
   *
   * @param mode the mode, or ANY for all
   * @param every the interval; at least 1
   * @param first the first step
   * @param end the step before which to stop; -1 for no end. If it is not after first, only the
   *     single steps are saved
   * @param steps single steps
   * @return the config
   */
  public SaveConfig with(Mode mode, long every, long first, long end, long... steps) {
    return use(
        config -> {
          Raw.smd_save_config_set(config, mode.number(), every, first, end, steps);
          return new SaveConfig(Lists.takeText(Raw.smd_save_config_to_json(config)));
        });
  }

  /**
   * Returns a copy that takes the settings of missing modes from another config.
   *
   * @param defaults the other config
   * @return the config
   */
  public SaveConfig orElse(SaveConfig defaults) {
    return use(
        config ->
            defaults.use(
                other -> {
                  Raw.smd_save_config_merge(config, other);
                  return new SaveConfig(Lists.takeText(Raw.smd_save_config_to_json(config)));
                }));
  }

  /**
   * Returns true if a mode has its own settings.
   *
   * @param mode the mode
   * @return true if it has
   */
  public boolean isSet(Mode mode) {
    return use(config -> Raw.smd_save_config_is_set(config, mode.number()) != 0);
  }

  /**
   * Returns true if a step is saved.
   *
   * @param step its number in its mode
   * @param mode the mode
   * @return true if so
   */
  public boolean saves(long step, Mode mode) {
    return use(config -> Raw.smd_save_config_saves(config, step, mode.number()) != 0);
  }

  /**
   * Returns the config as collections files store it.
   *
   * @return the text
   */
  public String toJson() {
    return json;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SaveConfig config && config.json.equals(json);
  }

  @Override
  public int hashCode() {
    return json.hashCode();
  }

  @Override
  public String toString() {
    return "SaveConfig" + json;
  }

  /** Calls a function with a handle, which is valid during the call. */
  <T> T use(LongFunction<T> call) {
    long config = Raw.smd_save_config_from_json(json);
    try {
      return call.apply(config);
    } finally {
      Raw.smd_save_config_free(config);
    }
  }

  /** Takes ownership of a handle; returns null for 0. */
  static SaveConfig take(long config) {
    if (config == 0) {
      return null;
    }
    try {
      return new SaveConfig(Lists.takeText(Raw.smd_save_config_to_json(config)));
    } finally {
      Raw.smd_save_config_free(config);
    }
  }
}
