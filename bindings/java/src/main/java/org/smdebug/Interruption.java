package org.smdebug;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.Map;
import org.smdebug.SmdebugException.Facts;

/** Lets an interrupt of the thread cancel a waiting call into the C library. */
final class Interruption extends AbstractInterruptibleChannel {
  private final Runnable cancel;

  private Interruption(Runnable cancel) {
    this.cancel = cancel;
  }

  /**
   * Makes a call that an interrupt can end.
   *
   * @param cancel makes the call end soon; runs on the interrupting thread
   * @throws CancelledException if the thread is interrupted; its interrupt status stays set
   */
  static void cancels(Runnable cancel, Runnable call) {
    Interruption interruption = new Interruption(cancel);
    try {
      interruption.begin();
      try {
        call.run();
      } finally {
        interruption.end(true);
      }
    } catch (AsynchronousCloseException interrupted) {
      throw exception();
    }
  }

  static CancelledException exception() {
    String message = "the thread was interrupted while it waited for the trial";
    return new CancelledException(new Facts(ErrorCode.CANCELLED, message, false, Map.of()));
  }

  @Override
  protected void implCloseChannel() {
    cancel.run();
  }
}
