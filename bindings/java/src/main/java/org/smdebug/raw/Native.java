package org.smdebug.raw;

import java.nio.Buffer;
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
  public static native ByteBuffer valueBuffer(long value, long first, int count);

  /**
   * Saves `count` elements of a Java array, from `first` on.
   *
   * @param collections an smd_strings, or the number of a late step
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
      Buffer buffer,
      long first);

  /** Saves texts; `totalBytes` is their size with a NUL after each. */
  public static native void saveStrings(
      long hook,
      int target,
      long collections,
      byte[] name,
      long[] shape,
      byte[][] elements,
      long totalBytes);

  /**
   * Saves statistics.
   *
   * @param step the step of the tensor, if it is late
   * @param figures all, in the order of their bits in `given`
   * @param counts of NaN, infinite and zero elements
   * @param sample the bytes of `sampleCount` elements, or null
   */
  public static native void saveStatistics(
      long hook,
      boolean isLate,
      long step,
      byte[] name,
      int dtype,
      long[] shape,
      int given,
      double[] figures,
      long[] counts,
      byte[] sample,
      long sampleCount);

  /** Receives log lines, on any thread, in UTF-8. Must not throw. */
  public interface LogReceiver {
    /** Receives a line. */
    void log(int level, byte[] line);
  }

  /** Sends the log lines of a hook, trial or profiler, given by its options, to a receiver. */
  public static native void setLog(long options, int kind, int level, LogReceiver receiver);

  /** Calls the rules of a rule set that are written in Java. */
  public interface RuleReceiver {
    /** What {@link #invoke} returns if the rule failed. */
    int FAILED = -1;

    /** What {@link #invoke} returns if data that the rule needs is missing at the step. */
    int SKIPPED = -2;

    /**
     * Calls a rule. Must not throw.
     *
     * @param rule its number, given to {@link #addFunction}
     * @param findings an smd_findings, valid during the call
     * @return SMD_RULE_CONTINUE, SMD_RULE_FINISHED, or one of the constants above
     */
    int invoke(int rule, long step, long findings);
  }

  /** Adds a rule that a {@link RuleReceiver} knows by its number. */
  public static native void addFunction(long set, byte[] name, int rule, int action);

  /**
   * Evaluates the steps first &lt;= step &lt; end.
   *
   * @param out gets the smd_findings, also if this throws; 0 if there are none
   */
  public static native void evaluate(
      long set, long trial, long first, long end, int flags, RuleReceiver receiver, long[] out);

  /** Adds a finding with check, tensor, worker and message to those of a {@link RuleReceiver}. */
  public static native void addFinding(
      long findings, byte[][] texts, int action, double value, double limit, int level);
}
