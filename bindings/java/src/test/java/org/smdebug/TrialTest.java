package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.smdebug.raw.Raw;

class TrialTest {
  @TempDir Path folder;

  @Test
  void queries() {
    try (Hook hook =
        Hook.builder(folder.toString())
            .worker("worker_0")
            .collection(new Collection("mine").include("^w$"))
            .includeCollections("mine")
            .saveConfig(SaveConfig.unset().with(Mode.TRAIN, 2).with(Mode.EVAL, 1))
            .reductionConfig(ReductionConfig.of("min", "abs_mean").withRaw().withShape())
            .build()) {
      for (Mode mode : List.of(Mode.TRAIN, Mode.EVAL, Mode.TRAIN, Mode.TRAIN)) {
        hook.beginStep(mode);
        hook.save("w", new float[] {-1, 2}, 1, 2);
        hook.save("unwanted", 1.0);
        hook.endStep();
      }
    }
    try (Trial trial = Trial.builder(folder.toString()).name("job").open()) {
      assertEquals("job", trial.name());
      assertEquals(folder.toString(), trial.path());
      assertEquals("Trial(" + folder + ")", trial.toString());
      assertArrayEquals(new long[] {0, 1, 3}, trial.steps().toArray());
      assertArrayEquals(new long[] {0, 2}, trial.steps(Mode.TRAIN).toArray());
      assertEquals(List.of(Mode.TRAIN, Mode.EVAL), trial.modes());
      assertEquals(new Trial.ModeStep(0, Mode.EVAL), trial.modeStep(1));
      assertNull(trial.modeStep(2));
      assertEquals(3, trial.globalStep(2, Mode.TRAIN));
      assertEquals(-1, trial.globalStep(1, Mode.TRAIN));
      assertEquals(StepState.AVAILABLE, trial.stepState(3, Mode.GLOBAL));
      assertEquals(StepState.UNAVAILABLE, trial.stepState(2, Mode.GLOBAL));
      assertTrue(trial.hasEnded());
      assertEquals(3, trial.lastCompleteStep());
      assertEquals(List.of("worker_0"), trial.workers());
      assertTrue(trial.collectionNames().contains("mine"));
      assertEquals(List.of("w"), trial.tensorNames());
      assertEquals(List.of("w"), trial.tensorNamesAt(0, Mode.EVAL));
      assertEquals(List.of(), trial.tensorNamesAt(-1, Mode.GLOBAL));
      assertEquals(List.of(), trial.tensorNamesIn("mine", -1, Mode.GLOBAL));
      assertEquals(List.of("w"), trial.tensorNamesIn("mine"));
      assertEquals(List.of("w"), trial.tensorNamesIn("mine", 2, Mode.TRAIN));
      assertEquals(List.of("w"), trial.tensorNamesMatching("no", "^w"));
      assertEquals(List.of(), trial.tensorNamesMatching("no"));

      Tensor tensor = trial.tensor("w");
      assertEquals("Tensor(w)", tensor.toString());
      assertEquals("w", tensor.originalName());
      assertArrayEquals(new long[] {0, 1, 3}, tensor.steps().toArray());
      Values values = tensor.values(0, Long.MAX_VALUE, Mode.GLOBAL, null);
      try (Values sums = tensor.reductionValues(1, 3, Mode.TRAIN, null, Reduction.SUM, true);
          Values ofNobody = tensor.values(0, 1, Mode.GLOBAL, "nobody")) {
        assertEquals(3, values.size());
        assertEquals(3, values.step(2));
        assertEquals("Values(3 steps)", values.toString());
        try (Value value = values.value(2);
            Value sum = sums.value(0)) {
          values.close();
          assertArrayEquals(new float[] {-1, 2}, value.toFloatArray());
          assertEquals(3, sum.toDouble());
        }
        assertThrows(IllegalStateException.class, () -> values.value(0));
        assertThrows(IndexOutOfBoundsException.class, () -> sums.value(1));
        assertThrows(IndexOutOfBoundsException.class, () -> sums.step(-1));
        assertThrows(WorkerUnknownException.class, () -> ofNobody.value(0));
      }
      assertArrayEquals(new long[] {1, 3}, tensor.previousSteps(3, Mode.GLOBAL, 2).toArray());
      assertEquals(List.of("worker_0"), tensor.workers(0, Mode.EVAL));
      assertArrayEquals(new long[] {1, 2}, tensor.shape(0));
      assertEquals(List.of("min", "abs_mean"), tensor.reductions(0, Mode.GLOBAL, null));
      assertEquals(-1, tensor.reduce(0, Reduction.MIN));
      assertEquals(1.5, tensor.reduceAbsolute(0, Reduction.MEAN));
      assertEquals(2, tensor.reduce(0, Reduction.MAX));
      trial.prefetch(List.of("w"), Mode.TRAIN, 0, 2);
      try (Value value = tensor.value(2, Mode.TRAIN)) {
        assertArrayEquals(new float[] {-1, 2}, value.toFloatArray());
      }
    }
    try (Trial part = Trial.builder(folder.toString()).range(1, 3).open()) {
      assertArrayEquals(new long[] {1}, part.steps().toArray());
    }
  }

  @Test
  void readsWholeTensors() {
    try (Trial trial = Runs.finished(folder, 1)) {
      Tensor tensor = trial.tensor("w");
      try (Value whole = tensor.fullValue(0, Mode.GLOBAL);
          Value one = tensor.value(0);
          Value sum = tensor.fullReduction(0, Mode.GLOBAL, Reduction.SUM, false)) {
        assertArrayEquals(one.toFloatArray(), whole.toFloatArray());
        assertEquals(tensor.reduce(0, Reduction.SUM), sum.toDouble());
      }
    }
  }

  @Test
  void everyErrorHasItsClass() {
    try (Trial trial = Runs.finished(folder, 2)) {
      StepUnavailableException step =
          assertThrows(StepUnavailableException.class, () -> trial.tensor("w").value(7));
      assertEquals(ErrorCode.STEP_UNAVAILABLE, step.code());
      assertEquals("7", step.detail("step"));
      assertNull(step.detail("nothing"));
      assertFalse(step.isRetryable());
      TensorUnavailableException tensor =
          assertThrows(TensorUnavailableException.class, () -> trial.tensor("x"));
      assertEquals("x", tensor.detail("tensor"));
      assertThrows(
          WorkerUnknownException.class, () -> trial.tensor("w").value(0, Mode.GLOBAL, "other"));
      NoMoreDataException end =
          assertThrows(NoMoreDataException.class, () -> trial.waitForStep(5, Mode.GLOBAL, null));
      assertEquals(1, end.lastStep());
      assertThrows(InvalidConfigException.class, () -> trial.tensorNamesMatching("("));
      assertThrows(TrialExistsException.class, () -> Runs.hook(folder));
    }
    Path nothing = folder.resolve("nothing");
    assertThrows(
        MissingCollectionsException.class,
        () -> Trial.builder(nothing.toString()).waitFor(Duration.ZERO).open());
    IllegalArgumentException option =
        assertThrows(
            IllegalArgumentException.class,
            () -> Trial.builder(nothing.toString()).option("wait_second", "1").open());
    assertEquals(ErrorCode.INVALID_ARGUMENT, SmdebugException.of(option).code());
    assertTrue(option.getMessage().contains("wait_seconds"), option.getMessage());
    assertNull(SmdebugException.of(new IllegalStateException("of somebody else")));
  }

  @Test
  void errorCodesAreThoseOfTheLibrary() {
    for (ErrorCode code : ErrorCode.values()) {
      assertEquals(code.name(), Raw.smd_code_name(code.number()));
    }
    for (DType dtype : DType.values()) {
      assertEquals(dtype.key(), Raw.smd_dtype_name(dtype.number()));
      assertEquals(dtype.size(), Raw.smd_dtype_size(dtype.number()));
    }
    for (Mode mode : Mode.values()) {
      assertEquals(mode == Mode.ANY ? "" : mode.name(), Raw.smd_mode_name(mode.number()));
    }
  }

  @Test
  void errorsCanBeSerialized() throws Exception {
    try (Trial trial = Runs.finished(folder, 1)) {
      SmdebugException error =
          assertThrows(TensorUnavailableException.class, () -> trial.tensor("x"));
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
        out.writeObject(error);
      }
      try (ObjectInputStream in =
          new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
        SmdebugException copy = (SmdebugException) in.readObject();
        assertEquals(error.code(), copy.code());
        assertEquals("x", copy.detail("tensor"));
      }
    }
  }

  @Test
  void aClosedTrialIsAnIllegalState() {
    Trial trial = Runs.finished(folder, 1);
    Tensor tensor = trial.tensor("w");
    Value value = tensor.value(0);
    trial.close();
    trial.close();
    IllegalStateException error = assertThrows(IllegalStateException.class, trial::steps);
    assertEquals("the trial is closed", error.getMessage());
    assertThrows(IllegalStateException.class, () -> trial.tensor("w"));
    assertEquals(4, value.toFloatArray().length);
    value.close();

    // A tensor outlives its trial.
    assertArrayEquals(new long[] {0}, tensor.steps().toArray());
    try (Value later = tensor.value(0)) {
      tensor.close();
      tensor.close();
      assertEquals(4, later.toFloatArray().length);
    }
    error = assertThrows(IllegalStateException.class, () -> tensor.value(0));
    assertEquals("the tensor 'w' is closed", error.getMessage());
    assertEquals("w", tensor.name());
  }

  @Test
  void followingWaitsForStepsUntilTheJobEnds() throws Exception {
    Hook hook = Runs.hook(folder);
    Runs.saveStep(hook, 0);
    hook.flush();
    List<Long> seen = new ArrayList<>();
    Thread job =
        new Thread(
            () -> {
              for (int step = 1; step < 5; ++step) {
                sleep(60);
                Runs.saveStep(hook, step);
                hook.beginStep(Mode.EVAL);
                hook.endStep();
              }
              hook.close();
            });
    try (Trial trial = Trial.open(folder.toString())) {
      job.start();
      trial.follow().forEach(seen::add);
      assertEquals(List.of(0L, 1L, 3L, 5L, 7L), seen);
      assertArrayEquals(new long[] {2, 3, 4}, trial.follow(Mode.TRAIN, 2).toArray());
      assertArrayEquals(new long[0], trial.follow(Mode.PREDICT, 0).toArray());
    }
    job.join();
  }

  @Test
  void waitsEndWithTheirTime() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        long begin = System.nanoTime();
        WaitTimeoutException error =
            assertThrows(
                WaitTimeoutException.class,
                () -> trial.waitForStep(9, Mode.GLOBAL, Duration.ofMillis(120)));
        long milliseconds = (System.nanoTime() - begin) / 1_000_000;
        assertTrue(milliseconds >= 120 && milliseconds < 5000, milliseconds + " ms");
        assertTrue(error.isRetryable());
        assertEquals("step 9 of GLOBAL did not come within PT0.12S", error.getMessage());
      }
    }
  }

  @Test
  void interruptsEndWaits() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        interruptSoon(Thread.currentThread());
        assertThrows(InterruptedException.class, () -> trial.waitForStep(9, Mode.GLOBAL, null));
        assertFalse(Thread.interrupted());

        interruptSoon(Thread.currentThread());
        assertThrows(CancelledException.class, () -> trial.follow().count());
        assertTrue(Thread.interrupted());
        assertArrayEquals(new long[] {0}, trial.steps().toArray());
      }
    }
    interruptSoon(Thread.currentThread());
    String nothing = folder.resolve("nothing").toString();
    long begin = System.nanoTime();
    assertThrows(CancelledException.class, () -> Trial.open(nothing));
    assertTrue(Thread.interrupted());
    assertTrue(System.nanoTime() - begin < 10_000_000_000L);
  }

  @Test
  void cancellingEndsWaitsOfOtherThreads() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        Thread other =
            new Thread(
                () -> {
                  sleep(100);
                  trial.cancel();
                });
        other.start();
        assertThrows(CancelledException.class, () -> trial.waitForStep(9, Mode.GLOBAL, null));
        other.join();
      }
    }
  }

  @Test
  void refreshingCanBeSwitchedOff() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        trial.refresh();
        assertTrue(trial.autoRefresh(false));
        assertArrayEquals(new long[] {0}, trial.steps().toArray());
        Runs.saveStep(hook, 1);
        hook.flush();
        assertArrayEquals(new long[] {0}, trial.steps().toArray());
        trial.refresh();
        assertArrayEquals(new long[] {0, 1}, trial.steps().toArray());
        assertFalse(trial.autoRefresh(true));
      }
    }
  }

  @Test
  void thePlaceCanBeChecked() {
    StoreReport report = StoreReport.check(folder.toString(), Map.of());
    assertTrue(report.isGood(), report.toString());
    assertFalse(StoreReport.check("/proc/nowhere", Map.of()).isGood());
    assertEquals(System.getProperty("smdebug.version"), Library.version());
    assertTrue(Library.hasFeature("local"));
    assertFalse(Library.hasFeature("nothing"));
  }

  static void interruptSoon(Thread thread) {
    new Thread(
            () -> {
              sleep(120);
              thread.interrupt();
            })
        .start();
  }

  static void sleep(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException error) {
      throw new AssertionError(error);
    }
  }
}
