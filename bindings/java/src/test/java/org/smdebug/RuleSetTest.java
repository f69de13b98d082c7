package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RuleSetTest {
  private static final Map<String, String> THRESHOLD = Map.of("threshold", "1.5e-6");

  @TempDir Path folder;

  static RuleSet rules() {
    return new RuleSet(RuleSet.Profile.AWS).add("VanishingGradient", THRESHOLD, Action.STOP);
  }

  private static RuleSet own(RuleFunction function) {
    return new RuleSet().add("Own", function, Action.WARN);
  }

  private static List<Long> steps(List<Finding> findings) {
    return findings.stream().map(Finding::step).toList();
  }

  private static List<Finding> findings(Trial trial) {
    try (RuleSet rules = rules()) {
      return rules.evaluate(trial);
    }
  }

  @Test
  void evaluatesATrial() {
    try (Trial trial = Runs.finished(folder, 10);
        RuleSet rules = rules().add("VanishingGradient", Action.WARN)) {
      List<Finding> found = rules.evaluate(trial);
      assertEquals(List.of(6L, 7L, 8L, 8L, 9L, 9L), steps(found));
      Finding first = found.get(0);
      assertEquals(
          new Finding(
              "VanishingGradient",
              "small",
              "gradient/w",
              "worker_0",
              first.message(),
              6,
              Mode.TRAIN,
              6,
              Action.STOP,
              OptionalDouble.of((float) 1e-6),
              OptionalDouble.of(1.5e-6),
              Level.FINDING),
          first);
      assertTrue(first.toString().startsWith("VanishingGradient at step 6: the gradient"));
      assertEquals(Action.WARN, found.get(3).action());
      assertEquals(List.of(), rules.evaluate(trial)); // no step is evaluated twice
      List<RuleResult> results = rules.results();
      assertEquals(first, results.get(0).first().orElseThrow());
      assertEquals(4, results.get(0).findingCount());
      assertEquals(8, results.get(1).first().orElseThrow().step());
      assertTrue(results.get(0).message().startsWith("4 findings"));
    }
  }

  @Test
  void saysWhyItFoundNothing() {
    try (Hook hook = Runs.hook(folder)) {
      hook.beginStep();
      hook.save("w", 1.0);
      hook.endStep();
    }
    try (Trial trial = Trial.open(folder.toString());
        RuleSet rules = rules()) {
      assertEquals(List.of(), rules.follow(trial).toList());
      RuleResult result = rules.results().get(0);
      assertEquals(
          new RuleResult(
              "VanishingGradient",
              RuleResult.Status.NO_TENSORS,
              0,
              result.message(),
              Optional.empty(),
              0),
          result);
      assertEquals("VanishingGradient: " + result.message(), result.toString());
    }
  }

  @Test
  void evaluatesARange() {
    try (Trial trial = Runs.finished(folder, 12);
        RuleSet rules = rules()) {
      assertEquals(List.of(7L), steps(rules.evaluate(trial, 7, 8)));
      assertEquals(List.of(8L), steps(rules.evaluate(trial, 0, 9)));
      assertEquals(9, rules.follow(trial, 3, 10).findFirst().orElseThrow().step());
      assertEquals(List.of(11L), steps(rules.evaluate(trial, 11, 20))); // 10 is observed, not reported
      assertEquals(List.of(), rules.follow(trial).toList());
    }
  }

  @Test
  void belongsToOneTrial() {
    try (Trial healthy = Runs.finished(folder.resolve("healthy"), 1);
        Trial ill = Runs.finished(folder.resolve("ill"), 7);
        RuleSet rules = rules()) {
      rules.evaluate(healthy);
      assertThrows(IllegalStateException.class, () -> rules.evaluate(ill));
      rules.reset();
      assertEquals(List.of(6L), steps(rules.evaluate(ill)));
    }
  }

  @Test
  void followsALiveTrial() throws Exception {
    Hook hook = Runs.hook(folder);
    Runs.saveStep(hook, 0);
    Thread training =
        new Thread(
            () -> {
              for (int step = 1; step < 9; ++step) {
                Runs.saveStep(hook, step);
              }
              hook.close();
            });
    training.start();
    try (Trial trial = Trial.open(folder.toString());
        RuleSet rules = rules()) {
      assertEquals(List.of(6L, 7L, 8L), steps(rules.follow(trial).toList()));
    }
    training.join();
  }

  @Test
  void rulesHearOfTheEndOfAJob() throws Exception {
    Hook hook = Runs.hook(folder);
    saveRates(hook, 0, 1);
    hook.flush();
    Thread training =
        new Thread(
            () -> {
              saveRates(hook, 1, 100);
              hook.close();
            });
    try (Trial trial = Trial.open(folder.toString());
        RuleSet rules = new RuleSet().add("UnusualSettings", Action.WARN)) {
      training.start();
      List<Finding> found = rules.follow(trial).toList();
      assertEquals(List.of("warmup"), found.stream().map(Finding::check).toList());
      assertEquals(List.of(99L), steps(found));
    }
    training.join();
  }

  /** Saves a learning rate that rises. */
  private static void saveRates(Hook hook, int first, int end) {
    for (int step = first; step < end; ++step) {
      hook.beginStep();
      hook.save("learning_rate/SGD_0", (float) step);
      hook.endStep();
    }
  }

  @Test
  void interruptsEndARun() throws Exception {
    try (Hook hook = Runs.hook(folder);
        RuleSet rules = rules()) {
      Runs.saveStep(hook, 7);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        Thread.currentThread().interrupt();
        assertThrows(CancelledException.class, () -> rules.evaluate(trial));
        assertTrue(Thread.interrupted());
        TrialTest.interruptSoon(Thread.currentThread());
        assertThrows(CancelledException.class, () -> rules.follow(trial).count());
        assertTrue(Thread.interrupted());
      }
    }
  }

  @Test
  void refusesWhatMakesNoSense() {
    try (Trial trial = Runs.finished(folder, 1);
        RuleSet rules = new RuleSet()) {
      assertThrows(
          IllegalArgumentException.class, () -> rules.add("VanishingGradients", Action.WARN));
      InvalidConfigException unknown =
          assertThrows(
              InvalidConfigException.class,
              () -> rules.add("VanishingGradient", Map.of("limit", "1"), Action.WARN));
      assertEquals("limit", unknown.detail("key"));
      assertEquals(List.of(), rules.evaluate(trial));
      assertThrows(IllegalStateException.class, () -> rules.add("VanishingGradient", Action.WARN));
      RuleSet closed = new RuleSet(RuleSet.Profile.CALIBRATED);
      closed.close();
      closed.close();
      assertThrows(IllegalStateException.class, closed::results);
      assertThrows(IllegalStateException.class, () -> closed.evaluate(trial));
    }
  }

  @Test
  void isAttachedToAHook() {
    // The hook saves nothing after the first step.
    try (Hook hook = Hook.builder(folder.toString()).saveConfig(SaveConfig.every(100)).build()) {
      try (RuleSet rules = rules()) {
        hook.attach(rules);
      }
      for (int step = 0; step < 7; ++step) {
        assertEquals(Action.CONTINUE, hook.action());
        Runs.saveStep(hook, step);
      }
      assertEquals(Action.STOP, hook.action());
      assertEquals(List.of(6L), steps(hook.takeFindings()));
      assertEquals(List.of(), hook.takeFindings());
      hook.beginStep();
      assertTrue(hook.wants("gradient/w"));
      assertFalse(hook.wants("w"));
      try (RuleSet other = rules()) {
        assertThrows(IllegalStateException.class, () -> hook.attach(other));
      }
    }
  }

  @Test
  void evaluatesTheStepsThatItsConfigSelects() {
    try (Hook hook = Hook.builder(folder.toString()).saveConfig(SaveConfig.every(100)).build();
        RuleSet rules = rules()) {
      hook.attach(rules.saveConfig(SaveConfig.every(8)));
      for (int step = 0; step < 10; ++step) {
        Runs.saveStep(hook, step);
      }
      // Without the config, steps 6, 7 and 9 would also have findings.
      assertEquals(List.of(8L), steps(hook.takeFindings()));
      assertThrows(IllegalStateException.class, () -> rules.saveConfig(SaveConfig.unset()));
    }
  }

  @Test
  void liveAndStoredFindingsAreEqual() {
    List<Finding> live;
    try (Hook hook =
            Hook.builder(folder.toString())
                .includeCollections("gradients")
                .saveConfig(SaveConfig.every(1))
                .build();
        RuleSet rules = rules()) {
      hook.attach(rules);
      for (int step = 0; step < 10; ++step) {
        Runs.saveStep(hook, step);
      }
      live = hook.takeFindings();
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(4, live.size());
      assertEquals(live, findings(trial));
    }
  }

  @Test
  void allRulesAreAdded() {
    try (Trial trial = Runs.finished(folder, 8);
        RuleSet rules = rules().addAll(Action.WARN)) {
      assertEquals(26, rules.results().size());
      rules.evaluate(trial);
      Finding first = rules.results().get(0).first().orElseThrow();
      assertEquals(6, first.step());
      assertEquals(OptionalDouble.of(1.5e-6), first.limit());
      assertEquals(Action.STOP, first.action());
      assertThrows(IllegalStateException.class, () -> rules.addAll(Action.WARN));
    }
  }

  @Test
  void theRulesAreListed() {
    RuleInfo first = RuleSet.builtinRules().get(0);
    assertEquals("VanishingGradient", first.name());
    assertEquals("threshold", first.parameters().get(0).name());
    assertEquals("1e-7", first.parameters().get(0).aws());
  }

  /** In a bucket, each look costs requests. */
  @Test
  void evaluatingLooksForStepsOnce() throws InterruptedException {
    List<Long> seen = new ArrayList<>();
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      Runs.saveStep(hook, 1);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString());
          RuleSet rules =
              own(
                  step -> {
                    Runs.saveStep(hook, 2);
                    seen.add(step.trial().steps(Mode.GLOBAL, true).count());
                  })) {
        rules.evaluate(trial, EvaluateOption.INCLUDE_INCOMPLETE);
      }
    }
    assertEquals(List.of(2L, 2L), seen);
  }

  @Test
  void bothExceptionsAreKept() {
    try (Trial trial = Runs.finished(folder, 1);
        RuleSet rules =
            own(
                step -> {
                  step.report("found");
                  throw new IllegalStateException("of the rule");
                })) {
      RuntimeException thrown =
          assertThrows(
              RuntimeException.class,
              () ->
                  rules.evaluate(
                      trial,
                      0,
                      1,
                      finding -> {
                        throw new RuntimeException("of the sink");
                      }));
      assertEquals("of the sink", thrown.getMessage());
      assertEquals("of the rule", thrown.getSuppressed()[0].getMessage());
    }
  }
}
