package org.smdebug;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import org.smdebug.SmdebugException.Facts;
import org.smdebug.raw.Native;
import org.smdebug.raw.Raw;

/**
 * One tensor's elements at one step, in memory outside of Java's heap: close it. May be used from
 * any thread.
 *
 * <p>The methods that make arrays convert where nothing is lost, and throw a {@link
 * SmdebugException} of the code UNSUPPORTED where something would be.
 */
public final class Value implements AutoCloseable {
  private final Handle handle;
  private final DType dtype;
  private final long[] shape;

  /** Takes a handle over. */
  Value(long address) {
    handle = new Handle(this, "the value", address, Raw::smd_value_free);
    dtype = DType.of(Raw.smd_value_dtype(address));
    shape = Native.valueShape(address);
  }

  /**
   * The type of the elements.
   *
   * @return the type
   */
  public DType dtype() {
    return dtype;
  }

  /**
   * The size of each dimension.
   *
   * @return the sizes; none for a single number
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * The number of elements.
   *
   * @return how many
   */
  public int size() {
    long size = 1;
    for (long dimension : shape) {
      size *= dimension;
    }
    return Math.toIntExact(size);
  }

  /**
   * The elements as floats: of float32, float16, bfloat16, float8, and of whole numbers up to 16
   * bits.
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
   * The elements as doubles: of all floating-point types, and of whole numbers up to 32 bits.
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
   * The elements as ints: of int32, and of whole numbers up to 16 bits.
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
   * The elements as longs: of int64, and of whole numbers up to 32 bits.
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
   * The elements as truth values: of bool.
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
   * The elements of a tensor of texts.
   *
   * @return the texts, in row-major order
   */
  public List<String> strings() {
    return handle.get(value -> Lists.takeStrings(Raw.smd_value_strings(value)));
  }

  /**
   * The bytes of the elements, in the machine's byte order; none for texts.
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
   * The elements where they lie, without a copy: direct, read-only, in the machine's byte order;
   * empty for texts. The buffer, and any view of it, may be used as long as it is held, also when
   * the value is closed: the memory goes when the value is closed and no such buffer can be
   * reached.
   *
   * @return a new view of the same memory
   */
  public ByteBuffer byteBuffer() {
    return handle.get(
        value -> {
          ByteBuffer elements = Native.valueBuffer(value);
          if (elements == null) {
            return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder()).asReadOnlyBuffer();
          }
          long share = Raw.smd_value_retain(value);
          if (share == 0) {
            throw new OutOfMemoryError("no native memory left");
          }
          // Every view refers to the buffer it was made of.
          Handle.freeWith(elements, () -> Raw.smd_value_free(share));
          return elements.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
        });
  }

  /**
   * The one element as a double; the real part of a complex number.
   *
   * @return the number
   * @throws IllegalArgumentException if there is not exactly one
   */
  public double toDouble() {
    double[] number = new double[1];
    handle.run(value -> Raw.smd_value_to_double(value, number));
    return number[0];
  }

  /**
   * Computes a reduction over all elements.
   *
   * @param reduction which
   * @param absolute whether of the absolute values
   * @return one element without dimensions, to be closed
   */
  public Value reduce(Reduction reduction, boolean absolute) {
    return handle.get(
        value -> new Value(Raw.smd_value_reduce(value, reduction.key(), absolute ? 1 : 0)));
  }

  /** Frees the elements, if no buffer shows them. A second call does nothing. */
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
          ByteBuffer data = Native.valueBuffer(value);
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
