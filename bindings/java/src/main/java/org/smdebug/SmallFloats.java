package org.smdebug;

import java.nio.ByteBuffer;

/** Converts floating-point numbers of 8 and 16 bits to float. */
final class SmallFloats {
  private SmallFloats() {}

  static void read(DType dtype, ByteBuffer data, float[] into) {
    for (int i = 0; i < into.length; ++i) {
      into[i] =
          switch (dtype) {
            case FLOAT16 -> half(data.getChar(2 * i));
            case BFLOAT16 -> Float.intBitsToFloat(data.getChar(2 * i) << 16);
            // A float8 E5M2 is the upper half of a float16.
            case FLOAT8_E5M2 -> half((data.get(i) & 0xFF) << 8);
            default -> e4m3fn(data.get(i) & 0xFF);
          };
    }
  }

  private static float half(int bits) {
    int exponent = bits >> 10 & 0x1F;
    int fraction = bits & 0x3FF;
    if (exponent == 0x1F) {
      return Float.intBitsToFloat((bits & 0x8000) << 16 | 0x7F80_0000 | fraction << 13);
    }
    float magnitude =
        exponent == 0
            ? Math.scalb((float) fraction, -24)
            : Math.scalb((float) (fraction | 0x400), exponent - 25);
    return (bits & 0x8000) == 0 ? magnitude : -magnitude;
  }

  private static float e4m3fn(int bits) {
    int exponent = bits >> 3 & 0xF;
    int fraction = bits & 0x7;
    float magnitude;
    if ((bits & 0x7F) == 0x7F) {
      magnitude = Float.NaN;
    } else if (exponent == 0) {
      magnitude = Math.scalb((float) fraction, -9);
    } else {
      magnitude = Math.scalb((float) (fraction | 0x8), exponent - 10);
    }
    return (bits & 0x80) == 0 ? magnitude : -magnitude;
  }
}
