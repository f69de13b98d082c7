package org.smdebug.raw;

import java.nio.ByteBuffer;

/** Functions of the JNI library that are written by hand; see src/main/native. */
public final class Native {
  static {
    NativeLibrary.load();
  }

  private Native() {}

  /** The text of an smd_text, which is freed. */
  public static native byte[] takeText(long text);

  /** The texts of an smd_strings, which is freed. */
  public static native byte[][] takeStrings(long strings);

  /** The numbers of an smd_steps, which is freed. */
  public static native long[] takeSteps(long steps);

  /** The size of each dimension of an smd_value. */
  public static native long[] valueShape(long value);

  /** The elements of an smd_value where they lie; null if there are none. */
  public static native ByteBuffer valueBuffer(long value);

  /**
   * Saves `count` elements of a Java array, from `first` on.
   *
   * @param kind the letter that JNI has for the array's elements, as F for float
   * @param isStepOpen whether a tensor that is not wanted may be passed over at once
   */
  public static native void saveArray(
      long hook,
      int target,
      long collections,
      byte[] name,
      int dtype,
      long[] shape,
      Object array,
      char kind,
      int first,
      int count,
      boolean isStepOpen);

  /** Saves the bytes of a direct buffer, from `first` on. */
  public static native void saveBuffer(
      long hook,
      int target,
      long collections,
      byte[] name,
      int dtype,
      long[] shape,
      ByteBuffer buffer,
      int first);

  /** Saves texts, of `totalBytes` with a NUL behind each. */
  public static native void saveStrings(
      long hook,
      int target,
      long collections,
      byte[] name,
      long[] shape,
      byte[][] elements,
      long totalBytes);

  /** Takes log lines, on any thread, in UTF-8. Must not throw. */
  public interface LogReceiver {
    /** Takes a line. */
    void log(int level, byte[] line);
  }

  /** Sends the log lines of a hook or a trial, given by its options, to a receiver. */
  public static native void setLog(long options, boolean isOfHook, int level, LogReceiver receiver);
}
