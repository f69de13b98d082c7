package org.smdebug;

/** Takes the log lines of a hook or a trial, instead of stderr. */
@FunctionalInterface
public interface LogSink {
  /**
   * Takes a line. Called on any thread that uses the hook or trial, and on the library's own. It
   * must not use the hook or trial that logs. What it throws goes to the thread's
   * UncaughtExceptionHandler.
   *
   * @param level how important it is: ERROR, WARNING, INFO or DEBUG
   * @param line the line, without its end
   */
  void log(System.Logger.Level level, String line);
}
