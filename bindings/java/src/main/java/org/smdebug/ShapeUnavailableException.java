package org.smdebug;

/** Neither shape nor value was saved at this step (SHAPE_UNAVAILABLE). */
public class ShapeUnavailableException extends DataUnavailableException {
  private static final long serialVersionUID = 1;

  ShapeUnavailableException(Facts facts) {
    super(facts);
  }
}
