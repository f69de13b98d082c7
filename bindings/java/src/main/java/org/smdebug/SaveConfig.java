package org.smdebug;

import java.util.function.LongFunction;
import org.smdebug.raw.Raw;

/**
 * When to save: for each mode, which of its steps. A mode that is not given takes what applies
 * otherwise, at last every 500th step. Immutable.
 */
public final class SaveConfig {
  private final String json;

  private SaveConfig(String json) {
    this.json = json;
  }

  /**
   * Every n-th step of every mode, from 0 on.
   *
   * @param every how many; at least 1
   * @return the config
   */
  public static SaveConfig every(long every) {
    return unset().with(Mode.ANY, every);
  }

  /**
   * A config in which no mode is given.
   *
   * @return the config
   */
  public static SaveConfig unset() {
    return take(Raw.smd_save_config_new());
  }

  /**
   * Reads the form of collection files.
   *
   * @param json the text
   * @return the config
   * @throws InvalidConfigException if it is none
   */
  public static SaveConfig fromJson(String json) {
    return take(Raw.smd_save_config_from_json(json));
  }

  /**
   * The same with every n-th step of a mode.
   *
   * @param mode the mode, or ANY for all
   * @param every how many; at least 1
   * @return the config
   */
  public SaveConfig with(Mode mode, long every) {
    return with(mode, every, 0, -1);
  }

  /**
   * The same with settings for a mode: step s is saved if it is among the steps, or if first &lt;=
   * s &lt; end and s is a multiple of every.
   *
   * @param mode the mode, or ANY for all
   * @param every at least 1
   * @param first the first step
   * @param end the step before which to stop; -1 for no end
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
   * The same, with what it leaves open taken from another.
   *
   * @param defaults the other
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
   * Whether a mode was given its own settings.
   *
   * @param mode the mode
   * @return true if so
   */
  public boolean isSet(Mode mode) {
    return use(config -> Raw.smd_save_config_is_set(config, mode.number()) != 0);
  }

  /**
   * Whether a step is saved.
   *
   * @param mode its mode
   * @param step its number in that mode
   * @return true if so
   */
  public boolean wants(Mode mode, long step) {
    return use(config -> Raw.smd_save_config_wants(config, mode.number(), step) != 0);
  }

  /**
   * The form of collection files.
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

  /** Calls with a handle, which lives for that long. */
  <T> T use(LongFunction<T> call) {
    long config = Raw.smd_save_config_from_json(json);
    try {
      return call.apply(config);
    } finally {
      Raw.smd_save_config_free(config);
    }
  }

  /** Takes a handle over; null for 0. */
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
