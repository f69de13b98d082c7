package org.smdebug;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import org.smdebug.SmdebugException.Facts;
import org.smdebug.raw.Native;
import org.smdebug.raw.Raw;

/**
 * One tensor's elements at one step, in memory outside of Java's heap: close it. Safe for use by
 * several threads.
 *
 * <p>The methods that return arrays convert the elements if the conversion is exact. Otherwise they
 * throw an {@link SmdebugException} with the code UNSUPPORTED.
 */
public final class Value implements AutoCloseable {
  private final Handle handle;
  private final DType dtype;
  private final long[] shape;

  /** Takes ownership of a handle. */
  Value(long address) {
    handle = new Handle(this, "the value", address, Raw::smd_value_free);
    dtype = DType.of(Raw.smd_value_dtype(address));
    shape = Native.valueShape(address);
  }

  /**
   * Returns the type of the elements.
   *
   * @return the type
   */
  public DType dtype() {
    return dtype;
  }

  /**
   * Returns the size of each dimension.
   *
   * @return the sizes; empty for a single number
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * Returns the number of elements.
   *
   * @return the number
   */
  public int size() {
    long size = 1;
    for (long dimension : shape) {
      size *= dimension;
    }
    return Math.toIntExact(size);
  }

  /**
   * Converts to floats: from float32, float16, bfloat16, float8, and integers of up to 16 bits.
   *
   * @return a copy, in row-major order
   */
  public float[] toFloatArray() {
    return read(
        data -> {
          float[] result = new float[size()];
          switch (dtype) {
            case FLOAT32 -> data.asFloatBuffer().get(result);
            case FLOAT16, BFLOAT16, FLOAT8_E5M2, FLOAT8_E4M3FN ->
                SmallFloats.read(dtype, data, result);
            case INT8, UINT8, INT16, UINT16 -> {
              IntToLongFunction whole = whole(data);
              for (int i = 0; i < result.length; ++i) {
                result[i] = whole.applyAsLong(i);
              }
            }
            default -> throw lossy("float[]");
          }
          return result;
        });
  }

  /**
   * Converts to doubles: from all floating-point types, and integers of up to 32 bits.
   *
   * @return a copy, in row-major order
   */
  public double[] toDoubleArray() {
    return read(
        data -> {
          double[] result = new double[size()];
          switch (dtype) {
            case FLOAT64 -> data.asDoubleBuffer().get(result);
            case FLOAT32, FLOAT16, BFLOAT16, FLOAT8_E5M2, FLOAT8_E4M3FN -> {
              float[] floats = toFloatArray();
              for (int i = 0; i < result.length; ++i) {
                result[i] = floats[i];
              }
            }
            case INT8, UINT8, INT16, UINT16, INT32, UINT32 -> {
              IntToLongFunction whole = whole(data);
              for (int i = 0; i < result.length; ++i) {
                result[i] = whole.applyAsLong(i);
              }
            }
            default -> throw lossy("double[]");
          }
          return result;
        });
  }

  /**
   * Converts to ints: from int32, and integers of up to 16 bits.
   *
   * @return a copy, in row-major order
   */
  public int[] toIntArray() {
    return read(
        data -> {
          int[] result = new int[size()];
          switch (dtype) {
            case INT32 -> data.asIntBuffer().get(result);
            case INT8, UINT8, INT16, UINT16 -> {
              IntToLongFunction whole = whole(data);
              for (int i = 0; i < result.length; ++i) {
                result[i] = (int) whole.applyAsLong(i);
              }
            }
            default -> throw lossy("int[]");
          }
          return result;
        });
  }

  /**
   * Converts to longs: from int64, and integers of up to 32 bits.
   *
   * @return a copy, in row-major order
   */
  public long[] toLongArray() {
    return read(
        data -> {
          long[] result = new long[size()];
          switch (dtype) {
            case INT64 -> data.asLongBuffer().get(result);
            case INT8, UINT8, INT16, UINT16, INT32, UINT32 -> {
              IntToLongFunction whole = whole(data);
              for (int i = 0; i < result.length; ++i) {
                result[i] = whole.applyAsLong(i);
              }
            }
            default -> throw lossy("long[]");
          }
          return result;
        });
  }

  /**
   * Returns the elements of a tensor of BOOL.
   *
   * @return a copy, in row-major order
   */
  public boolean[] toBooleanArray() {
    return read(
        data -> {
          if (dtype != DType.BOOL) {
            throw lossy("boolean[]");
          }
          boolean[] result = new boolean[size()];
          for (int i = 0; i < result.length; ++i) {
            result[i] = data.get(i) != 0;
          }
          return result;
        });
  }

  /**
   * Returns the elements of a tensor of text.
   *
   * @return the texts, in row-major order
   */
  public List<String> strings() {
    return handle.get(value -> Lists.takeStrings(Raw.smd_value_strings(value)));
  }

  /**
   * Returns the bytes of the elements, in the machine's byte order; none for text.
   *
   * @return a copy, in row-major order
   */
  public byte[] toByteArray() {
    return read(
        data -> {
          byte[] result = new byte[data.remaining()];
          data.get(result);
          return result;
        });
  }

  /**
   * Returns a view of the elements without a copy: direct, read-only, in the machine's byte order;
   * empty for text. The buffer and any view of it stay valid as long as they are reachable, even
   * after the value is closed. The memory is freed once the value is closed and no such buffer is
   * reachable.
   *
   * @return a new view of the same memory
   * @throws SmdebugException UNSUPPORTED if there are more than 2 GiB; read those in parts
   */
  public ByteBuffer byteBuffer() {
    return handle.get(value -> view(value, 0, byteCount(value)));
  }

  /**
   * Returns a view of some bytes of the elements, which is like that of {@link #byteBuffer()}. So
   * values of more than 2 GiB can be read.
   *
   * @param first the number of bytes before the first one
   * @param count the number of bytes
   * @return a new view of the same memory
   * @throws IndexOutOfBoundsException if the value has not all of them
   */
  public ByteBuffer byteBuffer(long first, int count) {
    return handle.get(
        value -> {
          Objects.checkFromIndexSize(first, (long) count, Raw.smd_value_nbytes(value));
          return view(value, first, count);
        });
  }

  private static ByteBuffer view(long value, long first, int count) {
          ByteBuffer elements = Native.valueBuffer(value, first, count);
          if (elements == null) {
            return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder()).asReadOnlyBuffer();
          }
          long share = Raw.smd_value_retain(value);
          if (share == 0) {
            throw new OutOfMemoryError("no native memory left");
          }
          // Every view refers to the buffer from which it was made.
          Handle.freeWith(elements, () -> Raw.smd_value_free(share));
          return elements.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  private static int byteCount(long value) {
    long count = Raw.smd_value_nbytes(value);
    if (count > Integer.MAX_VALUE) {
      String message =
          "the value has "
              + count
              + " bytes, and a buffer has at most 2 GiB; read parts by byteBuffer(first, count)";
      throw new SmdebugException(new Facts(ErrorCode.UNSUPPORTED, message, false, Map.of()));
    }
    return (int) count;
  }

  /**
   * Returns the only element as a double; for a complex number, its real part.
   *
   * @return the number
   * @throws IllegalArgumentException if there is not exactly one element
   */
  public double toDouble() {
    double[] number = new double[1];
    handle.run(value -> Raw.smd_value_to_double(value, number));
    return number[0];
  }

  /**
   * Computes a reduction over all elements.
   *
   * @param reduction the reduction
   * @param absolute true to reduce the absolute values
   * @return one element without dimensions; close it
   */
  public Value reduce(Reduction reduction, boolean absolute) {
    return handle.get(
        value -> new Value(Raw.smd_value_reduce(value, reduction.key(), absolute ? 1 : 0)));
  }

  /** Frees the elements once no buffer refers to them. A second call does nothing. */
  @Override
  public void close() {
    handle.close();
  }

  @Override
  public String toString() {
    return "Value(" + dtype.key() + " " + Arrays.toString(shape) + ")";
  }

  Handle handle() {
    return handle;
  }

  private <T> T read(Function<ByteBuffer, T> read) {
    return handle.get(
        value -> {
          ByteBuffer data = Native.valueBuffer(value, 0, byteCount(value));
          return read.apply(
              (data == null ? ByteBuffer.allocate(0) : data).order(ByteOrder.nativeOrder()));
        });
  }

  private IntToLongFunction whole(ByteBuffer data) {
    return switch (dtype) {
      case INT8 -> data::get;
      case UINT8 -> i -> data.get(i) & 0xFF;
      case INT16 -> i -> data.getShort(2 * i);
      case UINT16 -> i -> data.getChar(2 * i);
      case INT32 -> i -> data.getInt(4 * i);
      default -> i -> data.getInt(4 * i) & 0xFFFF_FFFFL;
    };
  }

  private SmdebugException lossy(String wanted) {
    String message =
        "elements of "
            + dtype.key()
            + " do not fit into "
            + wanted
            + " without loss; see byteBuffer()";
    return new SmdebugException(new Facts(ErrorCode.UNSUPPORTED, message, false, Map.of()));
  }
}
