package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class PanelTest {
  private static final Map<String, String> THRESHOLD = Map.of("threshold", "1.5e-6");

  @TempDir Path folder;

  static Panel panel() {
    return new Panel(Panel.Profile.AWS).add("VanishingGradient", THRESHOLD, Action.STOP);
  }

  private static List<Long> steps(List<Verdict> verdicts) {
    return verdicts.stream().map(Verdict::step).toList();
  }

  private static List<Verdict> findings(Trial trial) {
    try (Panel panel = panel()) {
      return panel.run(trial);
    }
  }

  @Test
  void judgesATrial() {
    try (Trial trial = Runs.finished(folder, 10);
        Panel panel = panel().add("VanishingGradient", Action.WARN)) {
      List<Verdict> found = panel.run(trial);
      assertEquals(List.of(6L, 7L, 8L, 8L, 9L, 9L), steps(found));
      Verdict first = found.get(0);
      assertEquals(
          new Verdict(
              "VanishingGradient",
              Verdict.Status.FINDING,
              Action.STOP,
              6,
              Mode.TRAIN,
              6,
              "worker_0",
              "gradient/w",
              OptionalDouble.of((float) 1e-6),
              OptionalDouble.of(1.5e-6),
              "small",
              first.message()),
          first);
      assertTrue(first.toString().startsWith("VanishingGradient at step 6: the gradient"));
      assertEquals(Action.WARN, found.get(3).action());
      assertEquals(List.of(), panel.run(trial)); // nothing is judged twice
      List<Verdict> outcomes = panel.outcomes();
      assertEquals(List.of(6L, 8L), steps(outcomes));
      assertTrue(outcomes.get(0).message().startsWith("4 findings"));
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
        Panel panel = panel()) {
      assertEquals(List.of(), panel.follow(trial).toList());
      Verdict outcome = panel.outcomes().get(0);
      assertEquals(
          new Verdict(
              "VanishingGradient",
              Verdict.Status.NO_TENSOR,
              Action.CONTINUE,
              -1,
              Mode.GLOBAL,
              -1,
              "",
              "",
              OptionalDouble.empty(),
              OptionalDouble.empty(),
              "",
              outcome.message()),
          outcome);
      assertEquals("VanishingGradient: " + outcome.message(), outcome.toString());
    }
  }

  @Test
  void judgesARange() {
    try (Trial trial = Runs.finished(folder, 12);
        Panel panel = panel()) {
      assertEquals(List.of(7L), steps(panel.run(trial, 7, 8)));
      assertEquals(List.of(8L), steps(panel.run(trial, 0, 9)));
      assertEquals(9, panel.follow(trial, 3, 10).findFirst().orElseThrow().step());
      assertEquals(List.of(11L), steps(panel.run(trial, 11, 20))); // 10 is shown, not reported
      assertEquals(List.of(), panel.follow(trial).toList());
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
        Panel panel = panel()) {
      assertEquals(List.of(6L, 7L, 8L), steps(panel.follow(trial).toList()));
    }
    training.join();
  }

  @Test
  void interruptsEndARun() throws Exception {
    try (Hook hook = Runs.hook(folder);
        Panel panel = panel()) {
      Runs.saveStep(hook, 7);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        Thread.currentThread().interrupt();
        assertThrows(CancelledException.class, () -> panel.run(trial));
        assertTrue(Thread.interrupted());
        TrialTest.interruptSoon(Thread.currentThread());
        assertThrows(CancelledException.class, () -> panel.follow(trial).count());
        assertTrue(Thread.interrupted());
      }
    }
  }

  @Test
  void refusesWhatMakesNoSense() {
    try (Trial trial = Runs.finished(folder, 1);
        Panel panel = new Panel()) {
      assertThrows(
          IllegalArgumentException.class, () -> panel.add("VanishingGradients", Action.WARN));
      assertThrows(
          InvalidConfigException.class,
          () -> panel.add("VanishingGradient", Map.of("limit", "1"), Action.WARN));
      assertEquals(List.of(), panel.run(trial));
      assertThrows(IllegalStateException.class, () -> panel.add("VanishingGradient", Action.WARN));
      Panel closed = new Panel(Panel.Profile.CALIBRATED);
      closed.close();
      closed.close();
      assertThrows(IllegalStateException.class, closed::outcomes);
      assertThrows(IllegalStateException.class, () -> closed.run(trial));
    }
  }

  @Test
  void aHookWatches() {
    // Nothing is saved after the first step.
    try (Hook hook = Hook.builder(folder.toString()).saveConfig(SaveConfig.every(100)).build()) {
      try (Panel panel = panel()) {
        hook.watch(panel);
      }
      for (int step = 0; step < 7; ++step) {
        assertEquals(Action.CONTINUE, hook.advice());
        Runs.saveStep(hook, step);
      }
      assertEquals(Action.STOP, hook.advice());
      assertEquals(List.of(6L), steps(hook.takeVerdicts()));
      assertEquals(List.of(), hook.takeVerdicts());
      hook.beginStep();
      assertTrue(hook.wants("gradient/w"));
      assertFalse(hook.wants("w"));
      try (Panel other = panel()) {
        assertThrows(IllegalStateException.class, () -> hook.watch(other));
      }
    }
  }

  @Test
  void aPanelLooksAtTheStepsThatItsConfigSaves() {
    try (Hook hook = Hook.builder(folder.toString()).saveConfig(SaveConfig.every(100)).build();
        Panel panel = panel()) {
      hook.watch(panel.saveConfig(SaveConfig.every(8)));
      for (int step = 0; step < 10; ++step) {
        Runs.saveStep(hook, step);
      }
      // Steps 6, 7 and 9 would be found too.
      assertEquals(List.of(8L), steps(hook.takeVerdicts()));
      assertThrows(IllegalStateException.class, () -> panel.saveConfig(SaveConfig.unset()));
    }
  }

  @Test
  void liveAndStoredVerdictsAreEqual() {
    List<Verdict> live;
    try (Hook hook =
            Hook.builder(folder.toString())
                .includeCollections("gradients")
                .saveConfig(SaveConfig.every(1))
                .build();
        Panel panel = panel()) {
      hook.watch(panel);
      for (int step = 0; step < 10; ++step) {
        Runs.saveStep(hook, step);
      }
      live = hook.takeVerdicts();
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(4, live.size());
      assertEquals(live, findings(trial));
    }
  }

  @Test
  void theRulesAreListed() {
    String rules = Panel.rulesToJson();
    assertTrue(rules.contains("\"VanishingGradient\""), rules);
    assertTrue(rules.contains("\"threshold\""), rules);
  }
}
