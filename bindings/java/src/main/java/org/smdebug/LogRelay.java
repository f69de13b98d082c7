package org.smdebug;

import org.smdebug.raw.Native;
import org.smdebug.raw.RawConstants;
import org.smdebug.raw.Text;

/** Passes log lines of the library to the user's function. */
record LogRelay(LogSink sink) implements Native.LogReceiver {
  @Override
  public void log(int level, byte[] line) {
    try {
      sink.log(levelOf(level), Text.string(line));
    } catch (Throwable thrown) {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }
  }

  static int numberOf(System.Logger.Level level) {
    return switch (level) {
      case OFF -> RawConstants.SMD_LOG_OFF;
      case ERROR -> RawConstants.SMD_LOG_ERROR;
      case WARNING -> RawConstants.SMD_LOG_WARNING;
      case INFO -> RawConstants.SMD_LOG_INFO;
      case DEBUG, TRACE, ALL -> RawConstants.SMD_LOG_DEBUG;
    };
  }

  private static System.Logger.Level levelOf(int number) {
    return switch (number) {
      case RawConstants.SMD_LOG_ERROR -> System.Logger.Level.ERROR;
      case RawConstants.SMD_LOG_WARNING -> System.Logger.Level.WARNING;
      case RawConstants.SMD_LOG_INFO -> System.Logger.Level.INFO;
      default -> System.Logger.Level.DEBUG;
    };
  }
}
