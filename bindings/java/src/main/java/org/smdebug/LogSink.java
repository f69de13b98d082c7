package org.smdebug;

/** Receives the log lines of a hook or a trial; without one they go to stderr. */
@FunctionalInterface
public interface LogSink {
  /**
   * Receives a line. The library calls this on any thread that uses the hook or trial, and on its
   * own threads. The sink must not use the hook or trial that logs. An exception goes to the
   * thread's UncaughtExceptionHandler.
   *
   * @param level its severity: ERROR, WARNING, INFO or DEBUG
   * @param line the line, without line terminator
   */
  void log(System.Logger.Level level, String line);
}
