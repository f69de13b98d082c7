package org.smdebug;

import java.util.List;

/**
 * A built-in rule; {@link RuleSet#builtinRules} lists them.
 *
 * @param name its name
 * @param summary when it finds something, in one sentence
 * @param parameters its parameters
 */
public record RuleInfo(String name, String summary, List<Parameter> parameters) {
  /**
   * A parameter of a built-in rule. A default of "" means none.
   *
   * @param name its name
   * @param aws its default in the profile AWS
   * @param calibrated its default in the profile CALIBRATED
   * @param meaning what it means
   */
  public record Parameter(String name, String aws, String calibrated, String meaning) {}
}
