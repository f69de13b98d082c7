package org.smdebug;

/** No tensor with this name has been saved (TENSOR_UNAVAILABLE). */
public class TensorUnavailableException extends DataUnavailableException {
  private static final long serialVersionUID = 1;

  TensorUnavailableException(Facts facts) {
    super(facts);
  }
}
