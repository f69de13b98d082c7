package org.smdebug;

import java.time.Duration;
import java.util.Map;
import java.util.function.IntConsumer;
import org.smdebug.SmdebugException.Facts;

/** Splits waits of the C library into slices, and checks for an interrupt between them. */
final class Slices {
  static final int MILLISECONDS = 50;

  private Slices() {}

  /**
   * Repeats a call until it does not time out.
   *
   * @param call receives the milliseconds that it may wait
   * @param timeout the longest wait in total; null for no limit
   * @param complaint the message if the timeout expires
   */
  static void await(IntConsumer call, Duration timeout, String complaint)
      throws InterruptedException {
    long begin = System.nanoTime();
    long limit = timeout == null ? Long.MAX_VALUE : nanoseconds(timeout);
    for (; ; ) {
      if (Thread.interrupted()) {
        throw new InterruptedException(complaint);
      }
      long left = limit - (System.nanoTime() - begin);
      if (arrives(call, (int) Math.max(0, Math.min(MILLISECONDS, left / 1_000_000)))) {
        return;
      }
      if (left <= 0) {
        String message = complaint + " within " + timeout;
        throw new WaitTimeoutException(new Facts(ErrorCode.TIMEOUT, message, true, Map.of()));
      }
    }
  }

  /** Returns false if the call timed out. */
  static boolean arrives(IntConsumer call, int milliseconds) {
    try {
      call.accept(milliseconds);
      return true;
    } catch (WaitTimeoutException error) {
      return false;
    }
  }

  private static long nanoseconds(Duration timeout) {
    try {
      return timeout.toNanos();
    } catch (ArithmeticException error) {
      return timeout.isNegative() ? 0 : Long.MAX_VALUE;
    }
  }
}
