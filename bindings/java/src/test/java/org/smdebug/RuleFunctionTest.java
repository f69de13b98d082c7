package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Checks rules of a rule set that are written in Java, and how a rule set evaluates. */
@Timeout(60)
class RuleFunctionTest {
  @TempDir Path folder;

  private static List<String> says(List<Finding> findings) {
    return findings.stream()
        .map(each -> each.rule() + " " + each.step() + " " + each.action())
        .toList();
  }

  private static RuleSet own(RuleFunction function) {
    return new RuleSet().add("Own", function, Action.WARN);
  }

  @Test
  void mixesWithBuiltInRules() {
    try (Trial trial = Runs.finished(folder, 8);
        RuleSet rules = RuleSetTest.rules()) {
      rules
          .add(
              "Late",
              step -> {
                if (step.step() >= 7) {
                  step.report("step " + step.step());
                }
              },
              Action.STOP)
          .add(
              "Zero",
              step -> {
                step.report("é");
                step.finish();
              },
              Action.CONTINUE);
      List<Finding> found = rules.evaluate(trial);
      assertEquals(
          List.of(
              "Zero 0 CONTINUE",
              "VanishingGradient 6 STOP",
              "VanishingGradient 7 STOP",
              "Late 7 STOP"),
          says(found));
      assertEquals(
          new Finding(
              "Late",
              "",
              "",
              "",
              "step 7",
              7,
              Mode.TRAIN,
              7,
              Action.STOP,
              OptionalDouble.empty(),
              OptionalDouble.empty(),
              Level.FINDING),
          found.get(3));
      assertEquals("1 finding: é", rules.results().get(2).message());
      rules.reset();
      assertEquals(found, rules.evaluate(trial)); // the finished rule is called again
    }
  }

  @Test
  void reportsWholeFindings() {
    try (Trial trial = Runs.finished(folder, 2);
        RuleSet rules =
            own(
                step -> {
                  assertSame(RuleStep.class, step.getClass());
                  double most = step.trial().tensor("w").reduce(step.step(), Reduction.MAX);
                  Finding finding =
                      Finding.of("it is large")
                          .withCheck("large")
                          .withTensor("w")
                          .withWorker("worker_0")
                          .withAction(Action.STOP)
                          .withValue(most)
                          .withLimit(-0.5);
                  assertThrows(
                      IllegalArgumentException.class, () -> step.report(finding.withCheck("\0")));
                  assertThrows(
                      NullPointerException.class, () -> step.report(finding.withAction(null)));
                  step.report(finding);
                })) {
      assertEquals(
          new Finding(
              "Own",
              "large",
              "w",
              "worker_0",
              "it is large",
              1,
              Mode.TRAIN,
              1,
              Action.STOP,
              OptionalDouble.of(3),
              OptionalDouble.of(-0.5),
              Level.FINDING),
          rules.evaluate(trial).get(1));
    }
  }

  @Test
  void aFindingWorthALookRecommendsNothing() {
    try (Trial trial = Runs.finished(folder, 2);
        RuleSet rules =
            own(
                step ->
                    step.report(
                        Finding.of("large")
                            .withLevel(Level.WORTH_A_LOOK)
                            .withAction(Action.STOP)))) {
      Finding found = rules.evaluate(trial).get(0);
      assertEquals(Level.WORTH_A_LOOK, found.level());
      assertEquals(Action.CONTINUE, found.action());
      assertEquals("worth a look: Own at step 0: large", found.toString());
      RuleResult result = rules.results().get(0);
      assertEquals(RuleResult.Status.WORTH_A_LOOK, result.status());
      assertEquals(0, result.findingCount());
      assertEquals(2, result.lookCount());
      assertEquals(found, result.first().orElseThrow());
    }
  }

  @Test
  void missingDataSkipsTheStep() {
    try (Trial trial = Runs.finished(folder, 4);
        RuleSet rules =
            own(
                step -> {
                  if (step.step() == 0) {
                    step.trial().tensor("missing");
                  } else if (step.step() == 1) {
                    step.trial().tensor("w").value(99).close();
                  } else if (step.step() == 2) {
                    step.report("found");
                  }
                })) {
      assertEquals(List.of("Own 2 WARN"), says(rules.evaluate(trial)));
    }
  }

  private static final class Mishap extends Exception {
    private static final long serialVersionUID = 1;
  }

  /** Throws any object, as other languages of the virtual machine may. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void raise(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void throwsTheSameObject() {
    Throwable[] all = {
      new IllegalCallerException("mine"),
      new AssertionError("mine"),
      new OutOfMemoryError("mine"),
      new Mishap(),
      new RuleConditionMetException(
          new SmdebugException.Facts(ErrorCode.RULE_CONDITION_MET, "mine", false, Map.of()))
    };
    try (Trial trial = Runs.finished(folder, 9)) {
      for (Throwable mine : all) {
        AtomicInteger calls = new AtomicInteger();
        try (RuleSet rules =
            RuleSetTest.rules()
                .add(
                    "Fails",
                    step -> {
                      if (step.step() == 7 && calls.getAndIncrement() == 0) {
                        RuleFunctionTest.<RuntimeException>raise(mine);
                      }
                    },
                    Action.WARN)) {
          List<Finding> found = new ArrayList<>();
          Throwable thrown =
              assertThrows(
                  Throwable.class,
                  () -> rules.evaluate(trial, 0, Long.MAX_VALUE, found::add));
          assertSame(mine, thrown);
          assertEquals(0, thrown.getSuppressed().length);
          assertEquals(
              List.of("VanishingGradient 6 STOP", "VanishingGradient 7 STOP"), says(found));
          // The next evaluation continues after the step.
          assertEquals(List.of("VanishingGradient 8 STOP"), says(rules.evaluate(trial)));
          rules.reset();
          calls.set(0);
          found.clear();
          assertSame(
              mine,
              assertThrows(
                  Throwable.class, () -> rules.follow(trial).forEach(each -> found.add(each))));
          assertEquals(2, found.size());
        }
      }
    }
  }

  @Test
  void survivesAStackThatOverflows() {
    try (Trial trial = Runs.finished(folder, 2);
        RuleSet rules =
            own(
                new RuleFunction() {
                  @Override
                  public void invoke(RuleStep step) {
                    if (step.step() == 0) {
                      invoke(step);
                    }
                    step.report("found");
                  }
                })) {
      assertThrows(StackOverflowError.class, () -> rules.evaluate(trial));
      assertEquals(List.of("Own 1 WARN"), says(rules.evaluate(trial)));
    }
  }

  @Test
  void aStepIsBorrowed() {
    AtomicReference<RuleStep> kept = new AtomicReference<>();
    try (Trial trial = Runs.finished(folder, 2);
        RuleSet rules =
            own(
                step -> {
                  RuleStep before = kept.getAndSet(step);
                  if (before != null) {
                    assertThrows(IllegalStateException.class, () -> before.report("late"));
                  }
                })) {
      assertEquals(List.of(), rules.evaluate(trial));
      IllegalStateException error =
          assertThrows(IllegalStateException.class, () -> kept.get().report("late"));
      assertTrue(error.getMessage().contains("returned from step 1"), error.getMessage());
      kept.get().finish();
      assertSame(trial, kept.get().trial());
      assertEquals(1, kept.get().step());
    }
  }

  @Test
  void threadsThatAFunctionLeavesBehindDoNoHarm() throws Exception {
    AtomicInteger reported = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    try (Trial trial = Runs.finished(folder, 10);
        RuleSet rules =
            own(
                step -> {
                  for (int i = 0; i < 3; ++i) {
                    Thread thread =
                        new Thread(
                            () -> {
                              try {
                                for (int k = 0; k < 50; ++k) {
                                  step.report("found");
                                  reported.incrementAndGet();
                                }
                              } catch (IllegalStateException hasReturned) {
                                // Expected, sooner or later.
                              }
                            });
                    threads.add(thread);
                    thread.start();
                  }
                })) {
      List<Finding> found = rules.evaluate(trial);
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(reported.get(), found.size());
    }
  }

  @Test
  void cannotChangeItsRuleSet() {
    AtomicReference<RuleSet> own = new AtomicReference<>();
    AtomicInteger steps = new AtomicInteger();
    try (Trial trial = Runs.finished(folder, 3);
        RuleSet rules =
            own(
                step -> {
                  RuleSet mine = own.get();
                  List.<Runnable>of(
                          () -> mine.evaluate(trial),
                          () -> mine.follow(trial).count(),
                          mine::reset,
                          () -> mine.add("VanishingGradient", Action.WARN),
                          () -> mine.add("More", more -> {}, Action.WARN),
                          () -> mine.saveConfig(SaveConfig.every(2)))
                      .forEach(
                          change ->
                              assertTrue(
                                  assertThrows(IllegalStateException.class, change::run)
                                      .getMessage()
                                      .matches("the rule set is (being evaluated|attached or has begun).*")));
                  assertEquals(1, mine.results().size());
                  step.report("found");
                  if (steps.incrementAndGet() == 2) {
                    mine.close();
                  }
                })) {
      own.set(rules);
      List<Finding> found = new ArrayList<>();
      IllegalStateException error =
          assertThrows(
              IllegalStateException.class,
              () -> rules.evaluate(trial, 0, Long.MAX_VALUE, found::add));
      assertEquals("the rule set is closed", error.getMessage());
      assertEquals(2, found.size());
    }
  }

  @Test
  void mayCloseItsTrial() {
    try (Trial trial = Runs.finished(folder, 3);
        RuleSet rules =
            own(
                step -> {
                  step.trial().close();
                  assertThrows(IllegalStateException.class, () -> step.trial().steps());
                  step.report("found");
                })) {
      List<Finding> found = new ArrayList<>();
      assertThrows(
          IllegalStateException.class,
          () -> rules.evaluate(trial, 0, Long.MAX_VALUE, found::add));
      assertEquals(List.of("Own 0 WARN"), says(found));
    }
  }

  @Test
  void mayEvaluateAnotherRuleSet() {
    try (Trial trial = Runs.finished(folder.resolve("outer"), 2);
        Trial other = Runs.finished(folder.resolve("inner"), 5);
        RuleSet inner =
            own(
                step -> {
                  assertSame(other, step.trial());
                  step.report("inner");
                });
        RuleSet outer =
            own(
                step -> {
                  int count = inner.evaluate(other, 0, 2 * (step.step() + 1)).size();
                  step.report(count + " inside");
                })) {
      List<String> messages = outer.evaluate(trial).stream().map(Finding::message).toList();
      assertEquals(List.of("2 inside", "2 inside"), messages);
    }
  }

  @Test
  void twoThreadsEvaluateOneRuleSet() throws Exception {
    List<Finding> found = Collections.synchronizedList(new ArrayList<>());
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (Trial trial = Runs.finished(folder, 60);
        RuleSet rules =
            own(
                step -> {
                  Thread.yield();
                  step.report(Thread.currentThread().getName());
                })) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; ++i) {
        Thread thread =
            new Thread(
                () -> {
                  for (int round = 0; round < 40; ++round) {
                    try {
                      rules.evaluate(
                          trial,
                          0,
                          Long.MAX_VALUE,
                          each -> {
                            assertEquals(Thread.currentThread().getName(), each.message());
                            found.add(each);
                          });
                    } catch (IllegalStateException isBeingEvaluated) {
                      // By another thread.
                    } catch (Throwable unexpected) {
                      failure.set(unexpected);
                    }
                  }
                });
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertNull(failure.get());
    assertEquals(found.size(), found.stream().map(Finding::step).distinct().count());
  }

  @Test
  void refusesBadFunctions() {
    try (Trial trial = Runs.finished(folder, 1);
        RuleSet rules = new RuleSet()) {
      RuleFunction none = step -> {};
      assertThrows(
          IllegalArgumentException.class, () -> rules.add("", none, Action.WARN));
      assertThrows(
          IllegalArgumentException.class, () -> rules.add("a\0", none, Action.WARN));
      assertThrows(NullPointerException.class, () -> rules.add(null, none, Action.WARN));
      assertThrows(
          NullPointerException.class, () -> rules.add("Own", (RuleFunction) null, Action.WARN));
      // What was refused takes no number of a later function.
      rules.add("Good", step -> step.report("good"), Action.WARN);
      assertEquals(List.of("Good 0 WARN"), says(rules.evaluate(trial)));
      RuleSet closed = new RuleSet();
      closed.close();
      assertThrows(IllegalStateException.class, () -> closed.add("Late", none, Action.WARN));
    }
  }

  @Test
  void isNotAttachedToAHook() {
    try (Hook hook = Hook.builder(folder.toString()).build();
        RuleSet rules = own(step -> {})) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> hook.attach(rules));
      assertTrue(error.getMessage().contains("'Own' is a function"), error.getMessage());
    }
  }

  private static void assertIsGone(String what, WeakReference<?> reference) throws Exception {
    for (int i = 0; i < 200 && reference.get() != null; ++i) {
      System.gc();
      Thread.sleep(10);
    }
    assertNull(reference.get(), "a function is kept by a rule set that was " + what);
  }

  /** A function that refers to its rule set, and counts its calls. */
  private static final class Referring implements RuleFunction {
    private RuleSet rules;

    @Override
    public void invoke(RuleStep step) {
      step.report(rules.results().size() + " rule");
    }
  }

  private static Referring referring(Trial trial) {
    Referring function = new Referring();
    function.rules = own(function);
    System.gc();
    assertEquals("1 rule", function.rules.evaluate(trial).get(0).message());
    return function;
  }

  @Test
  void functionsGoWithTheirRuleSet() throws Exception {
    try (Trial trial = Runs.finished(folder, 1)) {
      Referring function = referring(trial);
      RuleSet closed = function.rules;
      closed.close();
      WeakReference<Referring> reference = new WeakReference<>(function);
      function = null;
      assertIsGone("closed", reference);
      Reference.reachabilityFence(closed);
      assertIsGone("forgotten", new WeakReference<>(referring(trial)));
    }
  }

  // ---- options --------------------------------------------------------------

  @Test
  void stopsAtAFinding() {
    try (Trial trial = Runs.finished(folder, 10);
        RuleSet rules = RuleSetTest.rules()) {
      RuleConditionMetException met =
          assertThrows(
              RuleConditionMetException.class,
              () -> rules.evaluate(trial, EvaluateOption.STOP_AT_FINDING));
      assertEquals("VanishingGradient", met.detail("rule"));
      assertEquals("6", met.detail("step"));
      List<Finding> found = new ArrayList<>();
      assertThrows(
          RuleConditionMetException.class,
          () ->
              rules.evaluate(
                  trial, 0, Long.MAX_VALUE, found::add, EvaluateOption.STOP_AT_FINDING));
      assertThrows(
          RuleConditionMetException.class,
          () ->
              rules
                  .follow(trial, EvaluateOption.STOP_AT_FINDING)
                  .forEach(found::add));
      assertEquals(List.of("VanishingGradient 7 STOP", "VanishingGradient 8 STOP"), says(found));
      assertEquals(List.of("VanishingGradient 9 STOP"), says(rules.evaluate(trial)));
    }
  }

  @Test
  void stoppingAtAFindingLosesNoException() {
    RuntimeException mine = new IllegalCallerException("mine");
    try (Trial trial = Runs.finished(folder, 1);
        RuleSet rules =
            own(step -> step.report("found"))
                .add(
                    "Fails",
                    step -> {
                      throw mine;
                    },
                    Action.WARN)) {
      RuleConditionMetException met =
          assertThrows(
              RuleConditionMetException.class,
              () -> rules.evaluate(trial, EvaluateOption.STOP_AT_FINDING));
      assertSame(mine, met.getSuppressed()[0]);
    }
  }

  private Hook worker(int number) {
    return Hook.builder(folder.toString())
        .worker("worker_" + number)
        .workers(2)
        .includeCollections("gradients")
        .saveConfig(SaveConfig.every(1))
        .build();
  }

  @Test
  void includesIncompleteSteps() throws IOException, InterruptedException {
    try (Hook first = worker(0);
        Hook second = worker(1)) {
      for (int step = 0; step < 7; ++step) {
        Runs.saveStep(first, step);
        if (step < 6) {
          Runs.saveStep(second, step);
        }
      }
      first.flush();
      second.flush();
      try (Trial trial = Trial.open(folder.toString());
          RuleSet complete = RuleSetTest.rules();
          RuleSet incomplete = RuleSetTest.rules();
          RuleSet following = RuleSetTest.rules()) {
        assertEquals(List.of(), complete.evaluate(trial));
        assertEquals(
            List.of("VanishingGradient 6 STOP"),
            says(incomplete.evaluate(trial, EvaluateOption.INCLUDE_INCOMPLETE)));
        // Nobody completes step 6 before it is found.
        Finding found =
            following
                .follow(trial, 1, 9, EvaluateOption.INCLUDE_INCOMPLETE)
                .findFirst()
                .orElseThrow();
        assertEquals(6, found.step());
        Runs.saveStep(second, 6);
        List.of(first, second).forEach(Hook::close);
        assertEquals(2, complete.evaluate(trial).size());
        assertEquals(
            List.of(), following.follow(trial, EvaluateOption.INCLUDE_INCOMPLETE).toList());
      }
    }
  }
}
