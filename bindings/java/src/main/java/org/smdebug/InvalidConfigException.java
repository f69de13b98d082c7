package org.smdebug;

/** A setting, a regular expression or JSON is invalid (INVALID_CONFIG). */
public class InvalidConfigException extends SmdebugException {
  private static final long serialVersionUID = 1;

  InvalidConfigException(Facts facts) {
    super(facts);
  }
}
