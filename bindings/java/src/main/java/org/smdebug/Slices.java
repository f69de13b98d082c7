package org.smdebug;

import java.time.Duration;
import java.util.Map;
import java.util.function.IntConsumer;
import org.smdebug.SmdebugException.Facts;

/** Waits of the C library, cut into slices between which Java's interrupts are seen. */
final class Slices {
  static final int MILLISECONDS = 50;

  private Slices() {}

  /**
   * Calls again and again until it is no longer a wait that was too short.
   *
   * @param call gets the milliseconds it may wait
   * @param timeout how long at most; null: without end
   * @param complaint the message if that is over
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

  /** False if the time was too short. */
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
