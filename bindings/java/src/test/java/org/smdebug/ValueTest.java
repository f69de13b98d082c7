package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.smdebug.raw.Raw;

class ValueTest {
  @TempDir Path folder;

  private Value saved(DType dtype, String hex) {
    Path run = folder.resolve(dtype.key());
    try (Hook hook = Runs.hook(run)) {
      ByteBuffer data = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
      hook.beginStep();
      hook.save("w", dtype, data.order(ByteOrder.nativeOrder()));
      hook.endStep();
    }
    try (Trial trial = Trial.open(run.toString())) {
      return trial.tensor("w").value(0);
    }
  }

  @Test
  void smallFloatsAreWidened() {
    assertArrayEquals(
        new float[] {1, -2, 65504, 0x1p-24f, -0f, Float.POSITIVE_INFINITY, Float.NaN, 0x1.ff8p-15f},
        saved(DType.FLOAT16, "003c" + "00c0" + "ff7b" + "0100" + "0080" + "007c" + "017e" + "ff03")
            .toFloatArray());
    assertArrayEquals(
        new float[] {1, -2, Float.POSITIVE_INFINITY, Float.NaN},
        saved(DType.BFLOAT16, "803f" + "00c0" + "807f" + "c07f").toFloatArray());
    assertArrayEquals(
        new double[] {1, -2, 57344, 0x1p-16, Double.NEGATIVE_INFINITY},
        saved(DType.FLOAT8_E5M2, "3c" + "c0" + "7b" + "01" + "fc").toDoubleArray());
    assertArrayEquals(
        new float[] {1, -2, 448, 0x1p-9f, Float.NaN, -0f},
        saved(DType.FLOAT8_E4M3FN, "38" + "c0" + "7e" + "01" + "7f" + "80").toFloatArray());
  }

  @Test
  void whatHasNoSignStaysPositive() {
    assertArrayEquals(new int[] {255, 1}, saved(DType.UINT8, "ff01").toIntArray());
    assertArrayEquals(new float[] {65535}, saved(DType.UINT16, "ffff").toFloatArray());
    assertArrayEquals(new long[] {4294967295L}, saved(DType.UINT32, "ffffffff").toLongArray());
  }

  /** The arrays to which each type converts exactly: float, double, int, long, boolean. */
  private static final Map<DType, String> CONVERSIONS = new EnumMap<>(DType.class);

  static {
    CONVERSIONS.put(DType.FLOAT16, "FD");
    CONVERSIONS.put(DType.FLOAT32, "FD");
    CONVERSIONS.put(DType.FLOAT64, "D");
    CONVERSIONS.put(DType.BFLOAT16, "FD");
    CONVERSIONS.put(DType.FLOAT8_E5M2, "FD");
    CONVERSIONS.put(DType.FLOAT8_E4M3FN, "FD");
    CONVERSIONS.put(DType.INT8, "FDIJ");
    CONVERSIONS.put(DType.INT16, "FDIJ");
    CONVERSIONS.put(DType.INT32, "DIJ");
    CONVERSIONS.put(DType.INT64, "J");
    CONVERSIONS.put(DType.UINT8, "FDIJ");
    CONVERSIONS.put(DType.UINT16, "FDIJ");
    CONVERSIONS.put(DType.UINT32, "DJ");
    CONVERSIONS.put(DType.UINT64, "");
    CONVERSIONS.put(DType.BOOL, "Z");
    CONVERSIONS.put(DType.COMPLEX64, "");
    CONVERSIONS.put(DType.COMPLEX128, "");
  }

  @Test
  void conversionsLoseNothing() {
    for (DType dtype : DType.values()) {
      if (dtype == DType.STRING) {
        continue;
      }
      StringBuilder possible = new StringBuilder();
      try (Value value = saved(dtype, "01".repeat(dtype.size()))) {
        tryOut('F', value::toFloatArray, possible);
        tryOut('D', value::toDoubleArray, possible);
        tryOut('I', value::toIntArray, possible);
        tryOut('J', value::toLongArray, possible);
        tryOut('Z', value::toBooleanArray, possible);
        assertEquals(dtype.size(), value.toByteArray().length);
        assertEquals(1, value.size());
        assertThrows(SmdebugException.class, value::strings);
      }
      assertEquals(CONVERSIONS.get(dtype), possible.toString(), dtype.key());
    }
  }

  private static void tryOut(char letter, Runnable conversion, StringBuilder possible) {
    try {
      conversion.run();
      possible.append(letter);
    } catch (SmdebugException error) {
      assertEquals(ErrorCode.UNSUPPORTED, error.code());
    }
  }

  @Test
  void theBufferShowsTheElementsWhereTheyLie() throws ReflectiveOperationException {
    try (Value value = saved(DType.FLOAT32, "0000803f" + "00000040")) {
      ByteBuffer buffer = value.byteBuffer();
      assertTrue(buffer.isDirect());
      assertTrue(buffer.isReadOnly());
      assertEquals(ByteOrder.nativeOrder(), buffer.order());
      assertEquals(2, buffer.asFloatBuffer().get(1));
      long address = value.handle().number(Raw::raw_value_address);
      assertEquals(address, addressOf(buffer));
      assertEquals(address, addressOf(value.byteBuffer()));
      ByteBuffer last = value.byteBuffer(4, 4);
      assertTrue(last.isReadOnly());
      assertEquals(2, last.getFloat(0));
      assertEquals(4, last.capacity());
      assertEquals(0, value.byteBuffer(8, 0).capacity());
      for (long first : new long[] {-1, 5, 9, Long.MIN_VALUE, Long.MAX_VALUE}) {
        assertThrows(IndexOutOfBoundsException.class, () -> value.byteBuffer(first, 4));
      }
      assertThrows(IndexOutOfBoundsException.class, () -> value.byteBuffer(0, -1));
    }
  }

  private static long addressOf(ByteBuffer buffer) throws ReflectiveOperationException {
    Field address = Buffer.class.getDeclaredField("address");
    address.setAccessible(true);
    return address.getLong(buffer);
  }

  @Test
  void aBufferKeepsTheMemory() throws InterruptedException {
    FloatBuffer view;
    float first;
    int size = 1 << 18;
    try (Value value = saved(DType.FLOAT32, "0000803f".repeat(size))) {
      view =
          value
              .byteBuffer()
              .slice(4, 4 * (size - 1))
              .order(ByteOrder.nativeOrder())
              .asFloatBuffer();
      first = value.toFloatArray()[0];
    }
    for (int i = 0; i < 5; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    // If the memory were free, this would take and overwrite it.
    saved(DType.FLOAT64, "00".repeat(4 * size)).close();
    assertEquals(1, first);
    for (int i = 0; i < view.limit(); ++i) {
      assertEquals(1, view.get(i));
    }
  }

  @Test
  void aClosedValueIsAnIllegalState() {
    Value value = saved(DType.INT8, "01");
    value.close();
    value.close();
    assertThrows(IllegalStateException.class, value::toIntArray);
    assertThrows(IllegalStateException.class, value::byteBuffer);
    assertThrows(IllegalStateException.class, value::toDouble);
    assertEquals("Value(int8 [1])", value.toString());
  }

  @Test
  void reductionsOfAValue() {
    try (Value value = saved(DType.INT8, "01ff03");
        Value sum = value.reduce(Reduction.SUM, false);
        Value absolute = value.reduce(Reduction.SUM, true)) {
      assertEquals(DType.INT64, sum.dtype());
      assertArrayEquals(new long[] {3}, sum.toLongArray());
      assertEquals(5, absolute.toDouble());
      assertThrows(IllegalArgumentException.class, value::toDouble);
    }
  }

  @Test
  void theBufferOfNothingIsEmpty() {
    try (Value value = saved(DType.FLOAT32, "")) {
      assertEquals(0, value.byteBuffer().remaining());
      assertFalse(value.byteBuffer().hasRemaining());
      assertEquals(0, value.toByteArray().length);
    }
  }
}
