package org.smdebug;

import java.util.Map;
import java.util.stream.Collectors;
import org.smdebug.raw.Raw;

/**
 * A rule that the library brings along: "VanishingGradient", with the parameter "threshold"
 * ("1e-7"): the mean of the absolute values of some tensor of the collection "gradients" is below
 * the threshold. {@link Panel#rulesToJson} lists them. Judges one step at a time.
 */
public final class BuiltinRule implements Rule, AutoCloseable {
  private final Handle handle;

  /**
   * Makes a rule with its defaults.
   *
   * @param name its name
   */
  public BuiltinRule(String name) {
    this(name, Map.of());
  }

  /**
   * Makes a rule.
   *
   * @param name its name
   * @param parameters values by name
   * @throws InvalidConfigException if a parameter is unknown or makes no sense
   */
  public BuiltinRule(String name, Map<String, String> parameters) {
    String json = toJson(parameters);
    handle = new Handle(this, "the rule", Raw.smd_rule_new_builtin(name, json), Raw::smd_rule_free);
  }

  @Override
  public synchronized boolean invokeAtStep(Trial trial, long step) {
    trial.await(step);
    return handle.number(
            rule ->
                trial
                    .handle()
                    .number(
                        raw ->
                            Lists.takeSteps(Raw.smd_rule_run(rule, raw, step, step + 1, 0)).length))
        > 0;
  }

  /**
   * What the last finding was, with tensor, value and limit.
   *
   * @return a sentence; "" before there is one
   */
  public synchronized String lastFinding() {
    return handle.get(Raw::smd_rule_last_finding);
  }

  /** Frees the rule. A second call does nothing. */
  @Override
  public void close() {
    handle.close();
  }

  static String toJson(Map<String, String> parameters) {
    return parameters.entrySet().stream()
        .map(entry -> quoted(entry.getKey()) + ":" + quoted(entry.getValue()))
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\' || c < ' ') {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
