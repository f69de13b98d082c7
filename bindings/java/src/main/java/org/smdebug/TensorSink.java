package org.smdebug;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.smdebug.raw.Native;
import org.smdebug.raw.RawConstants;
import org.smdebug.raw.Text;

/**
 * Saves tensors into a hook's open step, into collections ({@link Hook#into}), or into a step that
 * expects them ({@link Hook#late}). Saving copies the data during the call; afterwards the caller
 * may change it. If a name is saved again within a step, the last tensor wins. Safe for use by
 * several threads.
 */
public abstract sealed class TensorSink permits Hook, CollectionSink, LateStep {
  static final int INTO_STEP = 0;
  static final int INTO_COLLECTIONS = 1;
  static final int AS_SCALAR = 2;
  static final int INTO_LATE_STEP = 3;

  private static final long[] SCALAR = {};

  private final int target;

  TensorSink(int target) {
    this.target = target;
  }

  /** Returns the hook that records. */
  abstract Hook hook();

  /** Returns the collections to save into; null for those that include the tensor by its name. */
  abstract List<String> collections();

  /** Returns what the native function gets instead of collections. */
  long context() {
    return 0;
  }

  /**
   * Saves a tensor of FLOAT32.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, float[] data, long... shape) {
    saveArray(name, data, 'F', DType.FLOAT32, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of FLOAT64.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, double[] data, long... shape) {
    saveArray(name, data, 'D', DType.FLOAT64, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of INT32.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, int[] data, long... shape) {
    saveArray(name, data, 'I', DType.INT32, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of INT64.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, long[] data, long... shape) {
    saveArray(name, data, 'J', DType.INT64, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of INT16.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, short[] data, long... shape) {
    saveArray(name, data, 'S', DType.INT16, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of INT8.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, byte[] data, long... shape) {
    saveArray(name, data, 'B', DType.INT8, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of BOOL.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, boolean[] data, long... shape) {
    saveArray(name, data, 'Z', DType.BOOL, 0, data.length, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor of texts.
   *
   * @param name its name
   * @param data its elements in row-major order; no text may hold a NUL character
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, String[] data, long... shape) {
    saveStrings(name, data, shapeOf(name, data.length, shape));
  }

  /**
   * Saves a tensor from the bytes of a buffer between position and limit, which do not change. A
   * direct buffer is read in place.
   *
   * @param name its name
   * @param dtype the type of the elements
   * @param data the elements in row-major order and in the machine's byte order, which must be the
   *     buffer's; a heap buffer must have an accessible array
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, DType dtype, ByteBuffer data, long... shape) {
    if (dtype == DType.STRING) {
      throw new IllegalArgumentException("'" + name + "': a tensor of texts is saved as String[]");
    }
    if (dtype.size() > 1 && data.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException(
          "'"
              + name
              + "': the buffer's order is "
              + data.order()
              + "; make it with order(ByteOrder.nativeOrder())");
    }
    if (data.remaining() % dtype.size() != 0) {
      throw new IllegalArgumentException(
          "'"
              + name
              + "': "
              + data.remaining()
              + " bytes are not a multiple of the size of "
              + dtype);
    }
    long[] checked = shapeOf(name, data.remaining() / dtype.size(), shape);
    if (data.isDirect()) {
      saveBuffer(name, dtype, data, checked);
    } else if (data.hasArray()) {
      int first = data.arrayOffset() + data.position();
      saveArray(name, data.array(), 'B', dtype, first, data.remaining(), checked);
    } else {
      throw new IllegalArgumentException(
          "'" + name + "': the array of a read-only heap buffer cannot be read; give a copy");
    }
  }

  /**
   * Saves a tensor of FLOAT32 from the elements of a buffer between position and limit, which do not
   * change. A direct buffer in the machine's byte order is read in place.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, FloatBuffer data, long... shape) {
    int count = data.remaining();
    long[] checked = shapeOf(name, count, shape);
    if (data.hasArray()) {
      int first = data.arrayOffset() + data.position();
      saveArray(name, data.array(), 'F', DType.FLOAT32, first, count, checked);
    } else if (data.isDirect() && data.order() == ByteOrder.nativeOrder()) {
      saveBuffer(name, DType.FLOAT32, data, checked);
    } else {
      float[] copy = new float[count];
      data.duplicate().get(copy);
      saveArray(name, copy, 'F', DType.FLOAT32, 0, count, checked);
    }
  }

  /**
   * Saves a tensor of FLOAT64 from the elements of a buffer between position and limit, which do not
   * change. A direct buffer in the machine's byte order is read in place.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, DoubleBuffer data, long... shape) {
    int count = data.remaining();
    long[] checked = shapeOf(name, count, shape);
    if (data.hasArray()) {
      int first = data.arrayOffset() + data.position();
      saveArray(name, data.array(), 'D', DType.FLOAT64, first, count, checked);
    } else if (data.isDirect() && data.order() == ByteOrder.nativeOrder()) {
      saveBuffer(name, DType.FLOAT64, data, checked);
    } else {
      double[] copy = new double[count];
      data.duplicate().get(copy);
      saveArray(name, copy, 'D', DType.FLOAT64, 0, count, checked);
    }
  }

  /**
   * Saves a tensor of INT32 from the elements of a buffer between position and limit, which do not
   * change. A direct buffer in the machine's byte order is read in place.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, IntBuffer data, long... shape) {
    int count = data.remaining();
    long[] checked = shapeOf(name, count, shape);
    if (data.hasArray()) {
      int first = data.arrayOffset() + data.position();
      saveArray(name, data.array(), 'I', DType.INT32, first, count, checked);
    } else if (data.isDirect() && data.order() == ByteOrder.nativeOrder()) {
      saveBuffer(name, DType.INT32, data, checked);
    } else {
      int[] copy = new int[count];
      data.duplicate().get(copy);
      saveArray(name, copy, 'I', DType.INT32, 0, count, checked);
    }
  }

  /**
   * Saves a tensor of INT64 from the elements of a buffer between position and limit, which do not
   * change. A direct buffer in the machine's byte order is read in place.
   *
   * @param name its name
   * @param data its elements in row-major order
   * @param shape the size of each dimension; none: one dimension
   */
  public final void save(String name, LongBuffer data, long... shape) {
    int count = data.remaining();
    long[] checked = shapeOf(name, count, shape);
    if (data.hasArray()) {
      int first = data.arrayOffset() + data.position();
      saveArray(name, data.array(), 'J', DType.INT64, first, count, checked);
    } else if (data.isDirect() && data.order() == ByteOrder.nativeOrder()) {
      saveBuffer(name, DType.INT64, data, checked);
    } else {
      long[] copy = new long[count];
      data.duplicate().get(copy);
      saveArray(name, copy, 'J', DType.INT64, 0, count, checked);
    }
  }

  /**
   * Saves a tensor of one FLOAT32 and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, float value) {
    saveArray(name, new float[] {value}, 'F', DType.FLOAT32, 0, 1, SCALAR);
  }

  /**
   * Saves a tensor of one FLOAT64 and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, double value) {
    saveArray(name, new double[] {value}, 'D', DType.FLOAT64, 0, 1, SCALAR);
  }

  /**
   * Saves a tensor of one INT32 and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, int value) {
    saveArray(name, new int[] {value}, 'I', DType.INT32, 0, 1, SCALAR);
  }

  /**
   * Saves a tensor of one INT64 and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, long value) {
    saveArray(name, new long[] {value}, 'J', DType.INT64, 0, 1, SCALAR);
  }

  /**
   * Saves a tensor of one BOOL and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, boolean value) {
    saveArray(name, new boolean[] {value}, 'Z', DType.BOOL, 0, 1, SCALAR);
  }

  /**
   * Saves a tensor of one text and no dimension.
   *
   * @param name its name
   * @param value the element
   */
  public final void save(String name, String value) {
    saveStrings(name, new String[] {value}, SCALAR);
  }

  /** Checks the shape against the number of elements and returns it. */
  private static long[] shapeOf(String name, long count, long[] shape) {
    if (shape.length == 0) {
      return new long[] {count};
    }
    if (shape.length > RawConstants.SMD_MAX_RANK) {
      throw new IllegalArgumentException(
          "'" + name + "': a tensor has at most " + RawConstants.SMD_MAX_RANK + " dimensions");
    }
    long product = 1;
    for (long size : shape) {
      product = size < 0 || product > Integer.MAX_VALUE ? -1 : product * Math.min(size, 1L << 31);
      if (product < 0) {
        break;
      }
    }
    if (product != count) {
      throw new IllegalArgumentException(
          "'" + name + "': " + count + " elements do not make the shape " + Arrays.toString(shape));
    }
    return shape;
  }

  private void saveArray(
      String name, Object array, char kind, DType dtype, int first, int count, long[] shape) {
    saveArrayAs(target, name, array, kind, dtype, first, count, shape);
  }

  final void saveArrayAs(
      int as,
      String name,
      Object array,
      char kind,
      DType dtype,
      int first,
      int count,
      long[] shape) {
    byte[] utf8 = nameOf(name);
    record(
        (hook, names) ->
            Native.saveArray(
                hook,
                as,
                names,
                utf8,
                dtype.number(),
                shape,
                array,
                kind,
                first,
                count,
                hook().openStep() != Hook.NO_STEP));
  }

  /** Saves a direct buffer, whose positions count its elements. */
  private void saveBuffer(String name, DType dtype, Buffer data, long[] shape) {
    byte[] utf8 = nameOf(name);
    long first = (long) data.position() * (data instanceof ByteBuffer ? 1 : dtype.size());
    record(
        (hook, names) ->
            Native.saveBuffer(
                hook, target, names, utf8, dtype.number(), shape, data, first));
  }

  private void saveStrings(String name, String[] data, long[] shape) {
    byte[] utf8 = nameOf(name);
    byte[][] elements = new byte[data.length][];
    long bytes = 0;
    for (int i = 0; i < data.length; ++i) {
      elements[i] = Text.utf8(Objects.requireNonNull(data[i], "an element is null"));
      bytes += elements[i].length + 1;
    }
    long total = bytes;
    record((hook, names) -> Native.saveStrings(hook, target, names, utf8, shape, elements, total));
  }

  final void saveStatistics(String name, Statistics of, boolean isLate, long step) {
    byte[] utf8 = nameOf(name);
    byte[] sample = of.sample;
    long count = sample == null ? 0 : sample.length / of.dtype.size();
    record(
        (hook, unused) ->
            Native.saveStatistics(
                hook,
                isLate,
                step,
                utf8,
                of.dtype.number(),
                of.shape,
                of.given,
                of.figures,
                of.counts,
                sample,
                count));
  }

  private static byte[] nameOf(String name) {
    return Text.utf8(Objects.requireNonNull(name, "the tensor's name is null"));
  }

  private interface Save {
    void into(long hook, long collections);
  }

  private void record(Save save) {
    Handle handle = hook().handle();
    long address = handle.enter();
    try {
      List<String> names = collections();
      if (names == null) {
        save.into(address, context());
      } else {
        Lists.with(
            names,
            list -> {
              save.into(address, list);
              return null;
            });
      }
    } finally {
      handle.leave();
    }
  }
}
