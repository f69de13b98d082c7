package org.smdebug;

import java.nio.file.Path;

/** Creates trials for tests. */
final class Runs {
  private Runs() {}

  /** Returns a hook that saves everything at every step. */
  static Hook hook(Path folder) {
    return Hook.builder(folder.toString()).saveAll().saveConfig(SaveConfig.every(1)).build();
  }

  /** Records a finished trial: at each step "w", four floats, and "gradient/w", which shrinks. */
  static Trial finished(Path folder, int steps) {
    try (Hook hook =
        Hook.builder(folder.toString())
            .saveAll()
            .includeCollections("gradients")
            .saveConfig(SaveConfig.every(1))
            .build()) {
      for (int step = 0; step < steps; ++step) {
        saveStep(hook, step);
      }
    }
    return Trial.open(folder.toString());
  }

  static void saveStep(Hook hook, int step) {
    hook.beginStep(Mode.TRAIN);
    hook.save("w", new float[] {step, 1, 2, 3}, 2, 2);
    hook.save("gradient/w", new float[] {(float) Math.pow(0.1, step)});
    hook.endStep();
  }
}
