package org.smdebug;

import java.util.Locale;
import org.smdebug.raw.RawConstants;

/** The type of a tensor's elements. */
public enum DType {
  /** IEEE half precision. */
  FLOAT16(RawConstants.SMD_FLOAT16, 2),
  /** IEEE single precision, Java's float. */
  FLOAT32(RawConstants.SMD_FLOAT32, 4),
  /** IEEE double precision, Java's double. */
  FLOAT64(RawConstants.SMD_FLOAT64, 8),
  /** The upper half of a single. */
  BFLOAT16(RawConstants.SMD_BFLOAT16, 2),
  /** 8 bits, 5 of them exponent. */
  FLOAT8_E5M2(RawConstants.SMD_FLOAT8_E5M2, 1),
  /** 8 bits, 4 of them exponent, no infinities. */
  FLOAT8_E4M3FN(RawConstants.SMD_FLOAT8_E4M3FN, 1),
  /** Java's byte. */
  INT8(RawConstants.SMD_INT8, 1),
  /** Java's short. */
  INT16(RawConstants.SMD_INT16, 2),
  /** Java's int. */
  INT32(RawConstants.SMD_INT32, 4),
  /** Java's long. */
  INT64(RawConstants.SMD_INT64, 8),
  /** 8 bits without sign. */
  UINT8(RawConstants.SMD_UINT8, 1),
  /** 16 bits without sign, Java's char. */
  UINT16(RawConstants.SMD_UINT16, 2),
  /** 32 bits without sign. */
  UINT32(RawConstants.SMD_UINT32, 4),
  /** 64 bits without sign. */
  UINT64(RawConstants.SMD_UINT64, 8),
  /** One byte, 0 or 1. */
  BOOL(RawConstants.SMD_BOOL, 1),
  /** Two singles: real and imaginary part. */
  COMPLEX64(RawConstants.SMD_COMPLEX64, 8),
  /** Two doubles: real and imaginary part. */
  COMPLEX128(RawConstants.SMD_COMPLEX128, 16),
  /** Text. */
  STRING(RawConstants.SMD_STRING, 0);

  private final int number;
  private final int size;

  DType(int number, int size) {
    this.number = number;
    this.size = size;
  }

  /**
   * Returns the number of bytes of one element.
   *
   * @return the size; 0 for {@link #STRING}
   */
  public int size() {
    return size;
  }

  /**
   * Returns the name that every language uses for the type.
   *
   * @return the name, such as "float32"
   */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  int number() {
    return number;
  }

  static DType of(int number) {
    for (DType dtype : values()) {
      if (dtype.number == number) {
        return dtype;
      }
    }
    throw new IllegalArgumentException("no element type has the number " + number);
  }
}
