package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HookTest {
  @TempDir Path folder;

  @Test
  void whatIsSavedIsRead() {
    String path = folder.resolve("run").toString();
    try (Hook hook = Hook.builder(path).saveAll().saveConfig(SaveConfig.every(1)).build()) {
      hook.beginStep(Mode.TRAIN);
      hook.save("w", new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
      hook.endStep();
    }
    try (Trial trial = Trial.open(path);
        Value value = trial.tensor("w").value(0)) {
      assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, value.toFloatArray());
      assertArrayEquals(new long[] {2, 3}, value.shape());
    }
  }
}
