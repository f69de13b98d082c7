package org.smdebug;

import java.util.List;
import java.util.function.LongFunction;
import org.smdebug.raw.Raw;

/** Selects what to save of a tensor: reductions, the tensor itself, its shape. Immutable. */
public final class ReductionConfig {
  private final String json;

  private ReductionConfig(String json) {
    this.json = json;
  }

  /**
   * Selects reductions only, neither the tensor nor its shape.
   *
   * @param reductions names among min, max, median, mean, std, variance, sum, prod, l1 and l2; the
   *     prefix abs_ applies the reduction to the absolute values
   * @return the config
   * @throws InvalidConfigException if a name is unknown
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
   * Reads a config as collections files store it.
   *
   * @param json the text
   * @return the config
   * @throws InvalidConfigException if the text is not a config
   */
  public static ReductionConfig fromJson(String json) {
    return take(Raw.smd_reduction_config_from_json(json));
  }

  /**
   * Returns a copy that also saves the tensor itself.
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
   * Returns a copy that also saves the tensor's shape.
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
   * Returns the reductions, in the order in which they were given.
   *
   * @return their names, such as "min" and "abs_mean"
   */
  public List<String> names() {
    return use(config -> Lists.takeStrings(Raw.smd_reduction_config_reductions(config)));
  }

  /**
   * Returns true if the tensor itself is saved.
   *
   * @return true if it is
   */
  public boolean savesRaw() {
    return use(config -> Raw.smd_reduction_config_raw(config) != 0);
  }

  /**
   * Returns true if the tensor's shape is saved.
   *
   * @return true if it is
   */
  public boolean savesShape() {
    return use(config -> Raw.smd_reduction_config_shape(config) != 0);
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

  /** Calls a function with a handle, which is valid during the call. */
  <T> T use(LongFunction<T> call) {
    long config = Raw.smd_reduction_config_from_json(json);
    try {
      return call.apply(config);
    } finally {
      Raw.smd_reduction_config_free(config);
    }
  }

  /** Takes ownership of a handle; returns null for 0. */
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
