package org.smdebug;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** Measures saving and reading, in nanoseconds per call: SaveBenchmark FOLDER. */
final class SaveBenchmark {
  private static final int CALLS = 200_000;
  private static final int ROUNDS = 7;
  private static final int CALLS_OF_A_STEP = 1_000;

  private SaveBenchmark() {}

  private interface Call {
    void run(String name);
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Files.createTempDirectory(Path.of(arguments[0]), "benchmark-");
    float[] data = new float[16];
    ByteBuffer buffer = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
    try (Hook hook =
        Hook.builder(folder.toString())
            .includeRegex("^wanted")
            .saveConfig(SaveConfig.every(1))
            .build()) {
      print("save 16 floats", best(hook, name -> hook.save(name, data)));
      print(
          "save a direct buffer of them",
          best(hook, name -> hook.save(name, DType.FLOAT32, buffer)));
      print("save what nobody wants", best(hook, name -> hook.save("unwanted", data)));
    }
    float[] large = new float[1 << 22];
    try (Hook hook = Runs.hook(folder.resolve("large"))) {
      hook.beginStep();
      long begin = System.nanoTime();
      hook.save("large", large);
      print("save 16 MiB", System.nanoTime() - begin);
      hook.endStep();
    }
    try (Trial trial = Trial.open(folder.resolve("large").toString());
        Value value = trial.tensor("large").value(0)) {
      print("byteBuffer() of 16 MiB", best(null, name -> value.byteBuffer()));
    }
  }

  private static double best(Hook hook, Call call) throws InterruptedException {
    String[] names = new String[CALLS_OF_A_STEP];
    for (int i = 0; i < names.length; ++i) {
      names[i] = "wanted/layer_" + i;
    }
    double best = Double.MAX_VALUE;
    for (int round = 0; round < ROUNDS; ++round) {
      long spent = 0;
      for (int done = 0; done < CALLS; done += CALLS_OF_A_STEP) {
        if (hook != null) {
          hook.beginStep();
        }
        long begin = System.nanoTime();
        for (String name : names) {
          call.run(name);
        }
        spent += System.nanoTime() - begin;
        if (hook != null) {
          hook.endStep();
          hook.flush();
        }
      }
      best = Math.min(best, (double) spent / CALLS);
    }
    return best;
  }

  private static void print(String what, double nanoseconds) {
    System.out.printf("%-30s %12.0f ns%n", what, nanoseconds);
  }
}
