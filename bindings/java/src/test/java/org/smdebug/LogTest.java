package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTest {
  @TempDir Path folder;

  /** Records to a path that cannot be written, which the library's own thread logs. */
  private void fail(String run, System.Logger.Level level, LogSink sink) throws IOException {
    Path out = Files.createDirectories(folder.resolve(run));
    Files.writeString(out.resolve("events"), "takes the place of a folder");
    Hook hook =
        Hook.builder(out.toString())
            .saveAll()
            .saveConfig(SaveConfig.every(1))
            .log(level, sink)
            .build();
    hook.beginStep();
    hook.save("w", 1.0);
    hook.endStep();
    assertThrows(StorageException.class, hook::close);
  }

  @Test
  void linesOfTheLibrarysThreadArrive() throws IOException {
    List<String> lines = new CopyOnWriteArrayList<>();
    List<Thread> threads = new CopyOnWriteArrayList<>();
    fail(
        "run",
        System.Logger.Level.DEBUG,
        (level, line) -> {
          threads.add(Thread.currentThread());
          lines.add(level + " " + line);
        });
    assertTrue(lines.stream().anyMatch(line -> line.contains("events")), lines.toString());
    assertNotEquals(List.of(Thread.currentThread()), threads);
    assertTrue(
        lines.stream().allMatch(line -> line.matches("(ERROR|WARNING|INFO|DEBUG) .*")),
        lines.toString());
  }

  @Test
  void nothingArrivesWhereItIsOff() throws IOException {
    List<String> lines = new CopyOnWriteArrayList<>();
    fail("run", System.Logger.Level.OFF, (level, line) -> lines.add(line));
    assertEquals(List.of(), lines);
  }

  @Test
  void whatASinkThrowsIsNotLost() throws IOException {
    List<Throwable> uncaught = new CopyOnWriteArrayList<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> uncaught.add(thrown));
    try {
      for (int i = 0; i < 20; ++i) {
        fail(
            "run" + i,
            System.Logger.Level.DEBUG,
            (level, line) -> {
              throw new IllegalCallerException(line);
            });
      }
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    assertTrue(uncaught.size() >= 20, uncaught.toString());
    assertTrue(uncaught.get(0) instanceof IllegalCallerException, uncaught.toString());
  }

  @Test
  void aTrialThatWaitsSaysSo() {
    List<String> lines = new CopyOnWriteArrayList<>();
    Trial.Builder builder =
        Trial.builder(folder.toString())
            .option("wait_seconds", "1.5")
            .log(System.Logger.Level.WARNING, (level, line) -> lines.add(level + " " + line));
    assertThrows(MissingCollectionsException.class, builder::open);
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(
        lines.get(0).matches("WARNING .*: waiting for a job to record here, for up to .*"),
        lines.toString());
  }

  @Test
  void aTrialLogsToo() throws IOException {
    Runs.finished(folder, 2).close();
    Path index = folder.resolve("index/000000000/000000000001_worker_0.json");
    assertTrue(Files.exists(index));
    Files.writeString(index, "{");
    List<String> lines = new CopyOnWriteArrayList<>();
    try (Trial trial =
        Trial.builder(folder.toString())
            .log(System.Logger.Level.DEBUG, (level, line) -> lines.add(line))
            .open()) {
      assertThrows(CorruptDataException.class, trial::refresh);
      assertEquals(1, trial.steps().count());
    }
    assertFalse(lines.isEmpty());
  }
}
