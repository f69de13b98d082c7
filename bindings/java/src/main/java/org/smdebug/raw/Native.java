package org.smdebug.raw;

import java.nio.ByteBuffer;

/** Declares the JNI functions that are written by hand; see src/main/native. */
public final class Native {
  static {
    NativeLibrary.load();
  }

  private Native() {}

  /** Returns the text of an smd_text and frees it. */
  public static native byte[] takeText(long text);

  /** Returns the texts of an smd_strings and frees it. */
  public static native byte[][] takeStrings(long strings);

  /** Returns the numbers of an smd_integers and frees it. */
  public static native long[] takeIntegers(long integers);

  /** Returns the size of each dimension of an smd_value. */
  public static native long[] valueShape(long value);

  /** Returns the elements of an smd_value in place, or null if there are none. */
  public static native ByteBuffer valueBuffer(long value);

  /**
   * Saves `count` elements of a Java array, from `first` on.
   *
   * @param kind the JNI type letter of the array's elements, such as F for float
   * @param isStepOpen true if an unselected tensor may be skipped immediately
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

  /** Saves texts; `totalBytes` is their size with a NUL after each. */
  public static native void saveStrings(
      long hook,
      int target,
      long collections,
      byte[] name,
      long[] shape,
      byte[][] elements,
      long totalBytes);

  /** Receives log lines, on any thread, in UTF-8. Must not throw. */
  public interface LogReceiver {
    /** Receives a line. */
    void log(int level, byte[] line);
  }

  /** Sends the log lines of a hook or a trial, given by its options, to a receiver. */
  public static native void setLog(long options, boolean isOfHook, int level, LogReceiver receiver);
}
