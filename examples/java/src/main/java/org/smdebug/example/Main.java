package org.smdebug.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.smdebug.BuiltinRule;
import org.smdebug.Reduction;
import org.smdebug.Rule;
import org.smdebug.Tensor;
import org.smdebug.Trial;

/** Trains two networks, records both, and finds the faulty one: Main [FOLDER]. */
public final class Main {
  private Main() {}

  /** Holds at a step whose loss is hardly less than that of a guess among three kinds. */
  private static final Rule LEARNS_NOTHING =
      (trial, step) -> step >= 100 && loss(trial, step) > 0.9 * Math.log(3);

  /**
   * Runs the example.
   *
   * @param arguments the folder for the trials; if empty, a temporary folder
   * @throws IOException if a file cannot be read or written
   */
  public static void main(String[] arguments) throws IOException {
    // All that DJL needs is in jars.
    System.setProperty("ai.djl.offline", "true");
    Path folder = arguments.length > 0 ? Path.of(arguments[0]) : Files.createTempDirectory("iris-");
    report("sound", Training.sound(folder.resolve("sound")), folder.resolve("sound"));
    report("ill", Training.ill(folder.resolve("ill")), folder.resolve("ill"));
    System.out.println("\ntrials in " + folder);
  }

  private static void report(String name, Training training, Path folder) throws IOException {
    float accuracy = training.run();
    System.out.printf(
        Locale.ROOT, "%n%s network: tells %.0f %% of the flowers%n", name, 100 * accuracy);
    try (Trial trial = Trial.open(folder.toString());
        BuiltinRule vanishing = new BuiltinRule("VanishingGradient", Map.of("patience", "1"))) {
      System.out.println("  loss              " + curve(trial));
      System.out.println("  LearnsNothing     " + finding(trial.findings(LEARNS_NOTHING)));
      System.out.println("  VanishingGradient " + finding(trial.findings(vanishing)));
      if (!vanishing.lastFinding().isEmpty()) {
        System.out.println("    " + vanishing.lastFinding());
      }
    }
  }

  /** Returns the loss at some steps. */
  private static String curve(Trial trial) {
    StringBuilder curve = new StringBuilder();
    trial
        .steps()
        .filter(step -> step % 40 == 0)
        .forEach(step -> curve.append(String.format(Locale.ROOT, "%.3f  ", loss(trial, step))));
    return curve.toString().strip();
  }

  private static double loss(Trial trial, long step) {
    try (Tensor loss = trial.tensor("loss")) {
      return loss.reduce(step, Reduction.MEAN);
    }
  }

  private static String finding(LongStream findings) {
    OptionalLong first = findings.findFirst();
    return first.isPresent() ? "found at step " + first.getAsLong() : "finds nothing";
  }
}
