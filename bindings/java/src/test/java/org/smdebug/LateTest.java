package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LateTest {
  private static final float[] WEIGHT = {1, -2, 0};

  @TempDir Path folder;

  private Hook figuresOnly() {
    return Hook.builder(folder.toString())
        .saveAll()
        .saveConfig(SaveConfig.every(1))
        .reductionConfig(ReductionConfig.of("mean", "std").withShape())
        .build();
  }

  private static long lateStep(Hook hook) {
    long step = hook.beginStep();
    assertFalse(hook.expect("w").isEmpty());
    hook.endStep();
    return step;
  }

  private static Statistics statistics() {
    return new Statistics(DType.FLOAT32, 2, 3)
        .set(Figure.MEAN, 0.5)
        .set(Figure.VARIANCE, 4)
        .counts(0, 0, 6);
  }

  @Test
  void givenStatisticsAreSaved() {
    try (Hook hook = figuresOnly()) {
      assertThrows(IllegalStateException.class, () -> hook.saveStatistics("w", statistics()));
      hook.beginStep();
      Statistics lacking = new Statistics(DType.FLOAT32, 2, 3).set(Figure.MEAN, 0.5);
      assertThrows(IllegalArgumentException.class, () -> hook.saveStatistics("w", lacking));
      Statistics large = statistics().sample(new float[7]);
      assertThrows(IllegalArgumentException.class, () -> hook.saveStatistics("w", large));
      assertThrows(IllegalArgumentException.class, () -> statistics().sample(new double[1]));
      assertThrows(
          IllegalArgumentException.class, () -> statistics().sample(ByteBuffer.allocate(3)));
      assertThrows(
          IllegalArgumentException.class, () -> new Statistics(DType.FLOAT32, new long[33]));
      ByteBuffer sample = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder());
      hook.saveStatistics("w", statistics().sample(sample));
      hook.endStep();
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(2, trial.tensor("w").reduce(0, Reduction.STD));
      assertArrayEquals(new long[] {2, 3}, trial.tensor("w").shape(0));
    }
  }

  @Test
  void aStepWaitsForItsTensors() throws InterruptedException {
    try (Hook hook = Runs.hook(folder)) {
      List<Thread> senders = new ArrayList<>();
      for (int i = 0; i < 3; ++i) {
        long step = lateStep(hook);
        senders.add(new Thread(() -> hook.late(step).save("w", new float[] {step, 0})));
      }
      hook.flush(Duration.ofSeconds(30));
      assertEquals(0, hook.count("steps_written"));
      for (int i = 2; i >= 0; --i) {
        senders.get(i).start();
      }
      for (Thread sender : senders) {
        sender.join();
      }
      assertThrows(IllegalStateException.class, () -> hook.late(0).save("w", WEIGHT));
      assertThrows(IllegalStateException.class, () -> hook.late(9).save("w", new float[9999]));
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertArrayEquals(new long[] {0, 1, 2}, trial.steps().toArray());
      try (Value value = trial.tensor("w").value(2)) {
        assertArrayEquals(new float[] {2, 0}, value.toFloatArray());
      }
    }
  }

  @Test
  void expectTellsWhatIsSelected() {
    try (Hook hook = figuresOnly()) {
      assertThrows(IllegalStateException.class, () -> hook.expect("w"));
      long step = hook.beginStep();
      ExpectedParts parts = hook.expect("w");
      assertTrue(parts.hasShape() && parts.has(Figure.MEAN) && parts.has(Figure.VARIANCE));
      assertFalse(parts.hasValue() || parts.hasStatistics() || parts.has(Figure.MIN));
      hook.endStep();
      hook.late(step).saveStatistics("w", statistics());
      assertThrows(IllegalStateException.class, () -> hook.late(step).forgo("w"));
    }
  }

  @Test
  void largeTensorsAndTextsMayComeLate() {
    try (Hook hook = Runs.hook(folder)) {
      long step = hook.beginStep();
      hook.expect("large");
      hook.expect("text");
      hook.expect("buffer");
      hook.endStep();
      hook.late(step).save("large", new float[100_000]);
      hook.late(step).save("text", "層");
      ByteBuffer buffer = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
      hook.late(step).save("buffer", DType.FLOAT32, buffer);
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(3, trial.tensorNames().size());
    }
  }

  @Test
  void closingReportsWhatIsMissing() {
    Hook hook = Runs.hook(folder);
    hook.late(lateStep(hook)).forgo("w");
    lateStep(hook);
    TensorUnavailableException missing =
        assertThrows(TensorUnavailableException.class, hook::close);
    assertEquals("1", missing.detail("step"));
    assertEquals("w", missing.detail("tensor"));
  }
}
