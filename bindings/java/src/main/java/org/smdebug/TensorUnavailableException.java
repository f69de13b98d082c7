package org.smdebug;

/** No tensor of this name was saved so far (TENSOR_UNAVAILABLE). */
public class TensorUnavailableException extends DataUnavailableException {
  private static final long serialVersionUID = 1;

  TensorUnavailableException(Facts facts) {
    super(facts);
  }
}
