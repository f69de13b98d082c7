package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RuleTest {
  @TempDir Path folder;

  @Test
  void aLambdaIsARule() {
    try (Trial trial = Runs.finished(folder, 6)) {
      Rule rule = (base, step) -> base.tensor("w").reduce(step, Reduction.MAX) > 3.5;
      assertArrayEquals(new long[] {4, 5}, trial.findings(rule).toArray());
      assertArrayEquals(new long[] {4}, trial.findings(rule, 1, 5).toArray());
      List<Long> judged = new ArrayList<>();
      OptionalLong first =
          trial.findings((base, step) -> judged.add(step) && step == 2).findFirst();
      assertEquals(OptionalLong.of(2), first);
      assertEquals(List.of(0L, 1L, 2L), judged);
    }
  }

  @Test
  void missingDataSkipsTheStep() {
    try (Trial trial = Runs.finished(folder, 3)) {
      Rule rule =
          (base, step) -> {
            if (step == 0) {
              base.tensor("missing");
            } else if (step == 1) {
              base.tensor("w").value(99).close();
            }
            return true;
          };
      assertArrayEquals(new long[] {2}, trial.findings(rule).toArray());
    }
  }

  @Test
  void exceptionsOfARuleArriveUnchanged() {
    try (Trial trial = Runs.finished(folder, 3)) {
      RuntimeException mine = new RuntimeException("mine");
      Rule rule =
          (base, step) -> {
            throw mine;
          };
      assertSame(mine, assertThrows(RuntimeException.class, () -> trial.findings(rule).count()));
      Rule worker =
          (base, step) -> {
            base.tensor("w").value(step, Mode.GLOBAL, "nobody").close();
            return true;
          };
      assertThrows(WorkerUnknownException.class, () -> trial.findings(worker).count());
      assertTrue(trial.autoRefresh(true));
    }
  }

  @Test
  void theTrialStandsStillWhileItIsJudged() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString())) {
        Rule rule =
            (base, step) -> {
              Runs.saveStep(hook, 1);
              try {
                hook.flush();
              } catch (InterruptedException error) {
                throw new AssertionError(error);
              }
              return base.steps().count() == 1;
            };
        assertArrayEquals(new long[] {0}, trial.findings(rule, 0, 1).toArray());
        assertEquals(2, trial.steps().count());
      }
    }
  }

  @Test
  void theBuiltInRule() {
    try (Trial trial = Runs.finished(folder, 10);
        BuiltinRule rule =
            new BuiltinRule(
                "VanishingGradient", Map.of("threshold", "1.5e-6"), RuleSet.Profile.AWS)) {
      assertEquals("", rule.lastFinding());
      assertArrayEquals(new long[] {6, 7, 8, 9}, trial.findings(rule).toArray());
      assertTrue(rule.lastFinding().contains("gradient/w"), rule.lastFinding());
      try (BuiltinRule defaults =
              new BuiltinRule("VanishingGradient", Map.of(), RuleSet.Profile.AWS);
          BuiltinRule calibrated = new BuiltinRule("VanishingGradient")) {
        assertEquals(OptionalLong.of(8), trial.findings(defaults).findFirst());
        assertEquals(OptionalLong.empty(), trial.findings(calibrated).findFirst());
      }
    }
    assertThrows(IllegalArgumentException.class, () -> new BuiltinRule("Nothing"));
    assertThrows(
        InvalidConfigException.class,
        () -> new BuiltinRule("VanishingGradient", Map.of("thre\"shold", "\\")));
  }

  @Test
  void interruptsEndARun() throws Exception {
    try (Hook hook = Runs.hook(folder)) {
      Runs.saveStep(hook, 0);
      hook.flush();
      try (Trial trial = Trial.open(folder.toString());
          BuiltinRule rule = new BuiltinRule("VanishingGradient")) {
        TrialTest.interruptSoon(Thread.currentThread());
        assertThrows(CancelledException.class, () -> trial.findings(rule).count());
        assertTrue(Thread.interrupted());
        TrialTest.interruptSoon(Thread.currentThread());
        assertThrows(CancelledException.class, () -> rule.invokeAtStep(trial, 7));
        assertTrue(Thread.interrupted());
      }
    }
  }

  @Test
  void severalThreadsJudgeOneTrial() throws Exception {
    try (Trial trial = Runs.finished(folder, 20)) {
      List<Thread> threads = new ArrayList<>();
      List<long[]> results = Collections.synchronizedList(new ArrayList<>());
      for (int i = 0; i < 4; ++i) {
        Thread thread =
            new Thread(
                () ->
                    results.add(
                        trial
                            .findings(
                                (base, step) -> base.tensor("w").reduce(step, Reduction.MAX) > 10.5)
                            .toArray()));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(4, results.size());
      for (long[] result : results) {
        assertArrayEquals(new long[] {11, 12, 13, 14, 15, 16, 17, 18, 19}, result);
      }
      assertTrue(trial.autoRefresh(true));
    }
  }
}
