package org.smdebug;

import java.util.Map;
import java.util.stream.Collectors;

/**
 * A rule that the library implements; {@link RuleSet#builtinRules} lists them. For example,
 * "VanishingGradient" with the parameter "threshold" ("1e-7") reports a tensor of the collection
 * "gradients" if the mean of its absolute values is below the threshold. A rule keeps the history
 * of earlier steps; it starts again if it evaluates an earlier step than the last one.
 */
public final class BuiltinRule implements Rule, AutoCloseable {
  private final RuleSet rules;
  private long last = -1;
  private String lastFinding = "";

  /**
   * Creates a rule with default parameters.
   *
   * @param name its name
   */
  public BuiltinRule(String name) {
    this(name, Map.of());
  }

  /**
   * Creates a rule.
   *
   * @param name its name
   * @param parameters values by name
   * @throws InvalidConfigException if a parameter is unknown or its value is invalid
   */
  public BuiltinRule(String name, Map<String, String> parameters) {
    this(name, parameters, RuleSet.Profile.CALIBRATED);
  }

  /**
   * Creates a rule.
   *
   * @param name its name
   * @param parameters values by name
   * @param profile which defaults the other parameters have
   * @throws InvalidConfigException if a parameter is unknown or its value is invalid
   */
  public BuiltinRule(String name, Map<String, String> parameters, RuleSet.Profile profile) {
    rules = new RuleSet(profile);
    try {
      rules.add(name, parameters, Action.WARN);
    } catch (RuntimeException error) {
      rules.close();
      throw error;
    }
  }

  @Override
  public synchronized boolean invokeAtStep(Trial trial, long step) {
    trial.await(step);
    if (step <= last) {
      rules.reset();
    }
    last = step;
    boolean hasFound = false;
    for (Finding finding : rules.evaluate(trial, step)) {
      if (finding.level() == Level.FINDING) {
        hasFound = true;
        lastFinding = finding.message();
      }
    }
    return hasFound;
  }

  /**
   * Returns the message of the last finding, with tensor, value and limit.
   *
   * @return a sentence, or "" if there is no finding yet
   */
  public synchronized String lastFinding() {
    return lastFinding;
  }

  /** Frees the rule. A second call does nothing. */
  @Override
  public void close() {
    rules.close();
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
