package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.PrimitiveIterator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class StepTest {
  private static final long LARGEST = Long.MAX_VALUE - 1;

  @TempDir Path folder;

  private long[] steps() {
    try (Trial trial = Trial.open(folder.toString())) {
      return trial.steps().toArray();
    }
  }

  @Test
  void aStepThatWasEndedIsRecorded() {
    try (Hook hook = Runs.hook(folder)) {
      try (Step step = hook.step(Mode.EVAL)) {
        assertEquals(0, step.globalStep());
        hook.save("w", 1.0);
        step.end();
        step.end();
      }
      hook.step(Mode.TRAIN, step -> hook.save("w", (double) step));
      assertEquals(0, hook.lastStep(Mode.EVAL));
      assertEquals(0, hook.lastStep(Mode.TRAIN));
    }
    assertArrayEquals(new long[] {0, 1}, steps());
  }

  @Test
  void aScopeDiscardsOnlyItsOwnStep() {
    Hook hook = Runs.hook(folder);
    Step first = hook.step(Mode.TRAIN);
    hook.save("w", 1.0);
    hook.endStep();
    Step second = hook.step(Mode.TRAIN);
    hook.save("w", 2.0);
    first.close();
    assertThrows(IllegalStateException.class, hook::beginStep);
    second.end();
    Step third = hook.step(Mode.TRAIN);
    hook.discardStep();
    assertThrows(IllegalStateException.class, third::end);
    Step last = hook.step(Mode.TRAIN);
    hook.save("w", 4.0);
    hook.close();
    last.close();
    assertArrayEquals(new long[] {0, 1, 3}, steps());
  }

  @Test
  void aStepLeftByAnExceptionIsDiscarded() throws IOException {
    try (Hook hook = Runs.hook(folder)) {
      assertThrows(
          IOException.class,
          () -> {
            try (Step step = hook.step(Mode.TRAIN)) {
              hook.save("before", new double[1 << 19]);
              fail();
              step.end();
            }
          });
      IOException error =
          assertThrows(
              IOException.class,
              () ->
                  hook.step(
                      Mode.TRAIN,
                      step -> {
                        hook.save("before", (double) step);
                        fail();
                      }));
      assertEquals(0, error.getSuppressed().length);
      hook.beginStep();
      hook.save("before", 1.0);
      hook.discardStep();
      assertThrows(IllegalStateException.class, hook::discardStep);
      hook.step(Mode.TRAIN, step -> hook.save("after", (double) step));
    }
    assertArrayEquals(new long[] {3}, steps());
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(List.of("after"), trial.tensorNames());
    }
  }

  private static void fail() throws IOException {
    throw new IOException("as told");
  }

  @Test
  @Timeout(60)
  void theLargestStepIsTheLast() throws IOException {
    try (Hook hook = Runs.hook(folder)) {
      for (int i = 0; i < 2; ++i) {
        hook.step(Mode.TRAIN, step -> hook.save("w", (double) step));
      }
    }
    Path from = folder.resolve("index/000000000/000000000001_worker_0.json");
    Path to = folder.resolve("index/" + LARGEST / 1000 + "/" + LARGEST + "_worker_0.json");
    Files.createDirectories(to.getParent());
    String index = Files.readString(from);
    Files.writeString(to, index.replace("\"mode_step\": 1", "\"mode_step\": " + LARGEST));
    Files.delete(from);
    long[] expected = {0, LARGEST};
    try (Trial trial = Trial.open(folder.toString())) {
      assertArrayEquals(expected, trial.steps().toArray());
      for (Mode mode : new Mode[] {Mode.GLOBAL, Mode.TRAIN}) {
        List<Long> followed = new ArrayList<>();
        PrimitiveIterator.OfLong each = trial.follow(mode, 0).iterator();
        each.forEachRemaining((long step) -> followed.add(step));
        assertEquals(List.of(0L, LARGEST), followed);
      }
      assertArrayEquals(expected, trial.findings((base, step) -> true).toArray());
    }
  }
}
