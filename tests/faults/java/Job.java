import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.smdebug.Action;
import org.smdebug.Hook;
import org.smdebug.Mode;
import org.smdebug.RuleSet;
import org.smdebug.SaveConfig;
import org.smdebug.Tensor;
import org.smdebug.Trial;
import org.smdebug.Value;

/** Records and reads a trial; notes which steps are durable, and the exceptions. */
final class Job {
  static final int STEPS = 2;
  private static final float[] SAVED = new float[12_000];

  static {
    Arrays.fill(SAVED, 1.5f);
  }

  final List<Long> durable = new ArrayList<>();
  final List<Throwable> thrown = new ArrayList<>();
  private final String folder;

  Job(String folder) {
    this.folder = folder;
  }

  private interface Act {
    void run() throws InterruptedException;
  }

  private void attempt(Act act) {
    try {
      act.run();
    } catch (Throwable error) {
      thrown.add(error);
    }
  }

  void record() {
    attempt(
        () -> {
          Hook hook =
              Hook.builder(folder)
                  .option("durability", "step")
                  .log(System.Logger.Level.DEBUG, (level, line) -> {})
                  .saveAll()
                  .saveConfig(SaveConfig.every(1))
                  .build();
          for (int i = 0; i < STEPS; ++i) {
            attempt(() -> recordStep(hook));
          }
          hook.close();
        });
  }

  private void recordStep(Hook hook) throws InterruptedException {
    long step = hook.beginStep(Mode.TRAIN);
    try {
      hook.save("kernel", SAVED);
      hook.save("label", new String[] {"one", "two"});
      hook.saveScalar("loss", 0.5);
    } finally {
      hook.endStep();
    }
    hook.flush();
    durable.add(step);
  }

  void read() {
    attempt(this::steps);
  }

  /** Checks, with nothing failing, that all durable steps can be read. */
  void look() {
    attempt(
        () -> {
          if (!steps().containsAll(durable)) {
            throw new AssertionError("of the durable steps " + durable + " some are lost");
          }
        });
  }

  /** Returns the steps that can be read; it would wait for a missing trial. */
  private List<Long> steps() {
    if (durable.isEmpty()) {
      return List.of();
    }
    try (Trial trial = Trial.builder(folder).option("end_delay_seconds", "0").open()) {
      List<Long> steps = trial.steps().boxed().toList();
      for (String name : trial.tensorNames()) {
        try (Tensor tensor = trial.tensor(name)) {
          tensor.steps().forEach(step -> check(tensor, step));
        }
      }
      evaluate(trial, steps.size());
      return steps;
    }
  }

  private static void evaluate(Trial trial, int steps) {
    try (RuleSet rules = new RuleSet()) {
      rules.add("Own", step -> step.report("found"), Action.WARN);
      if (rules.evaluate(trial).size() != steps) {
        throw new AssertionError("a finding is lost");
      }
    }
  }

  private static void check(Tensor tensor, long step) {
    try (Value value = tensor.value(step)) {
      boolean isSame =
          switch (tensor.name()) {
            case "kernel" ->
                Arrays.equals(value.toFloatArray(), SAVED)
                    && value.byteBuffer().remaining() == SAVED.length * Float.BYTES;
            case "label" -> value.strings().equals(List.of("one", "two"));
            default -> value.toDouble() == 0.5;
          };
      if (!isSame) {
        throw new AssertionError(tensor.name() + " has a wrong value at step " + step);
      }
    }
  }
}
