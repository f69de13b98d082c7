package com.example;

import java.nio.file.Files;
import java.nio.file.Path;
import org.smdebug.Hook;
import org.smdebug.Mode;
import org.smdebug.SaveConfig;
import org.smdebug.Trial;
import org.smdebug.Value;

/** Records and reads one tensor. */
public final class User {
  private User() {}

  public static void main(String[] arguments) throws Exception {
    Path run = Files.createTempDirectory("user-").resolve("run");
    try (Hook hook =
        Hook.builder(run.toString()).saveAll().saveConfig(SaveConfig.every(1)).build()) {
      hook.step(Mode.TRAIN, step -> hook.save("w", new float[] {1, 2, 3}));
    }
    try (Trial trial = Trial.open(run.toString());
        Value value = trial.tensor("w").value(0)) {
      System.out.println(Trial.class.getModule() + " reads " + value);
    }
  }
}
