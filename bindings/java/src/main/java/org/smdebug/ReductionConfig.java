package org.smdebug;

import java.util.List;
import java.util.function.LongFunction;
import org.smdebug.raw.Raw;

/** What to save of a tensor: reductions, the tensor itself, its shape. Immutable. */
public final class ReductionConfig {
  private final String json;

  private ReductionConfig(String json) {
    this.json = json;
  }

  /**
   * Reductions, and neither the tensor nor its shape.
   *
   * @param reductions each one of min, max, median, mean, std, variance, sum, prod, l1, l2, or abs_
   *     and that: of the absolute values
   * @return the config
   * @throws InvalidConfigException if one is unknown
   */
  public static ReductionConfig of(String... reductions) {
    long config = Raw.smd_reduction_config_new();
    try {
      for (String reduction : reductions) {
        Raw.smd_reduction_config_add(config, reduction);
      }
      return new ReductionConfig(Lists.takeText(Raw.smd_reduction_config_to_json(config)));
    } finally {
      Raw.smd_reduction_config_free(config);
    }
  }

  /**
   * Reads the form of collection files.
   *
   * @param json the text
   * @return the config
   * @throws InvalidConfigException if it is none
   */
  public static ReductionConfig fromJson(String json) {
    return take(Raw.smd_reduction_config_from_json(json));
  }

  /**
   * The same, with the tensor itself saved too.
   *
   * @return the config
   */
  public ReductionConfig withRaw() {
    return use(
        config -> {
          Raw.smd_reduction_config_set_raw(config, 1);
          return new ReductionConfig(Lists.takeText(Raw.smd_reduction_config_to_json(config)));
        });
  }

  /**
   * The same, with the tensor's shape saved too.
   *
   * @return the config
   */
  public ReductionConfig withShape() {
    return use(
        config -> {
          Raw.smd_reduction_config_set_shape(config, 1);
          return new ReductionConfig(Lists.takeText(Raw.smd_reduction_config_to_json(config)));
        });
  }

  /**
   * The reductions in the order they were given.
   *
   * @return their names, as "min", "abs_mean"
   */
  public List<String> names() {
    return use(config -> Lists.takeStrings(Raw.smd_reduction_config_names(config)));
  }

  /**
   * Whether the tensor itself is saved.
   *
   * @return true if so
   */
  public boolean savesRaw() {
    return use(config -> Raw.smd_reduction_config_raw(config) != 0);
  }

  /**
   * Whether the tensor's shape is saved.
   *
   * @return true if so
   */
  public boolean savesShape() {
    return use(config -> Raw.smd_reduction_config_shape(config) != 0);
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
    return other instanceof ReductionConfig config && config.json.equals(json);
  }

  @Override
  public int hashCode() {
    return json.hashCode();
  }

  @Override
  public String toString() {
    return "ReductionConfig" + json;
  }

  /** Calls with a handle, which lives for that long. */
  <T> T use(LongFunction<T> call) {
    long config = Raw.smd_reduction_config_from_json(json);
    try {
      return call.apply(config);
    } finally {
      Raw.smd_reduction_config_free(config);
    }
  }

  /** Takes a handle over; null for 0. */
  static ReductionConfig take(long config) {
    if (config == 0) {
      return null;
    }
    try {
      return new ReductionConfig(Lists.takeText(Raw.smd_reduction_config_to_json(config)));
    } finally {
      Raw.smd_reduction_config_free(config);
    }
  }
}
