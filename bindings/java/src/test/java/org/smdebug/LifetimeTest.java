package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Checks that nothing leaks and no call loses its object, in whatever order objects end. */
@Timeout(120)
class LifetimeTest {
  private static final int CYCLES = 25_000;
  private static final int SLOW_CYCLES = CYCLES / 5;
  private static final int ROUNDS = 5;
  private static final long MOST_GROWTH = 1 << 20;

  @TempDir Path folder;

  private static long residentBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    throw new IOException("/proc/self/status has no VmRSS");
  }

  private static void collect() throws InterruptedException {
    for (int i = 0; i < 3; ++i) {
      System.gc();
      Thread.sleep(50);
    }
  }

  private interface Cycle {
    void run(int number);
  }

  private static void run(int cycles, Cycle cycle) throws InterruptedException {
    for (int i = 0; i < cycles; ++i) {
      cycle.run(i);
      // Objects that nobody closed must not pile up until the collector runs.
      if (i % 2500 == 0) {
        System.gc();
      }
    }
    collect();
  }

  /** A leak grows in every round; memory of a warm-up does not. */
  private static void assertFlat(int cycles, Cycle cycle) throws Exception {
    run(cycles, cycle);
    long growth = Long.MAX_VALUE;
    for (int round = 0; round < ROUNDS && growth >= MOST_GROWTH; ++round) {
      long before = residentBytes();
      run(cycles, cycle);
      growth = residentBytes() - before;
    }
    assertTrue(growth < MOST_GROWTH, "grows by " + growth / 1024 + " KiB a round");
  }

  @Test
  void hooksDoNotLeak() throws Exception {
    float[] small = new float[16];
    assertFlat(
        SLOW_CYCLES,
        i -> {
          try (Hook hook =
              Hook.builder(folder.resolve("run").toString())
                  .option("dry_run", "true")
                  .log(System.Logger.Level.WARNING, (level, line) -> {})
                  .saveAll()
                  .saveConfig(SaveConfig.every(1))
                  .collection(new Collection("mine").include("v"))
                  .build()) {
            hook.beginStep();
            hook.save("w", small);
            hook.into("c").save("v", small);
            hook.endStep();
          }
        });
  }

  @Test
  void trialsDoNotLeak() throws Exception {
    Runs.finished(folder, 2).close();
    assertFlat(
        SLOW_CYCLES,
        i -> {
          Trial trial = Trial.open(folder.toString());
          Tensor tensor = trial.tensor("w");
          Value value = tensor.value(i % 2);
          if (i % 3 == 0) {
            trial.close();
            value.close();
          } else if (i % 3 == 1) {
            value.close();
            trial.close();
          }
        });
  }

  @Test
  void valuesDoNotLeak() throws Exception {
    try (Trial trial = Runs.finished(folder, 2)) {
      Tensor tensor = trial.tensor("w");
      assertFlat(
          CYCLES,
          i -> {
            Value value = tensor.value(0);
            if (i % 4 == 0) {
              value.byteBuffer();
            }
            if (i % 2 == 0) {
              value.close();
            }
          });
    }
  }

  @Test
  void configsDoNotLeak() throws Exception {
    assertFlat(
        CYCLES,
        i -> {
          SaveConfig.every(3);
          Collection collection = new Collection("c");
          if (i % 2 == 0) {
            collection.close();
          }
        });
  }

  @Test
  void errorsDoNotLeak() throws Exception {
    try (Trial trial = Runs.finished(folder, 2)) {
      assertFlat(
          CYCLES,
          i -> {
            assertThrows(TensorUnavailableException.class, () -> trial.tensor("missing"));
            assertThrows(InvalidConfigException.class, () -> SaveConfig.fromJson("[]"));
          });
    }
  }

  @Test
  void rulesThatThrowDoNotLeak() throws Exception {
    try (Trial trial = Runs.finished(folder, 2)) {
      assertFlat(
          SLOW_CYCLES,
          i -> {
            Rule rule =
                (base, step) -> {
                  throw new IllegalCallerException();
                };
            assertThrows(IllegalCallerException.class, () -> trial.findings(rule).count());
            try (BuiltinRule builtin = new BuiltinRule("VanishingGradient")) {
              assertEquals(0, trial.findings(builtin).count());
            }
          });
    }
  }

  @Test
  void ruleSetsDoNotLeak() throws Exception {
    try (Trial trial = Runs.finished(folder.resolve("stored"), 8)) {
      assertFlat(
          SLOW_CYCLES,
          i -> {
            RuleSet rules = RuleSetTest.rules();
            assertEquals(2, rules.evaluate(trial).size());
            assertEquals(1, rules.results().size());
            assertThrows(
                IllegalArgumentException.class, () -> rules.add("Nothing", Action.WARN));
            if (i % 2 == 0) {
              rules.close();
            }
          });
    }
  }

  @Test
  void functionsDoNotLeak() throws Exception {
    try (Trial trial = Runs.finished(folder.resolve("stored"), 2)) {
      assertFlat(
          SLOW_CYCLES,
          i -> {
            RuntimeException mine = new IllegalCallerException();
            RuleSet[] own = new RuleSet[1];
            RuleSet rules =
                own[0] =
                    new RuleSet()
                        .add(
                            "Own",
                            step -> {
                              step.report(Finding.of("found").withTensor("w"));
                              assertEquals(1, own[0].results().size());
                              if (step.step() == 1) {
                                throw mine;
                              }
                            },
                            Action.WARN);
            assertSame(
                mine,
                assertThrows(IllegalCallerException.class, () -> rules.evaluate(trial)));
            if (i % 2 == 0) {
              rules.close();
            }
          });
    }
  }

  @Test
  void findingsOfAHookDoNotLeak() throws Exception {
    try (Hook hook =
        Hook.builder(folder.resolve("run").toString()).option("dry_run", "true").build()) {
      assertFlat(
          CYCLES,
          i -> {
            if (i % 10 == 0) {
              hook.attach(RuleSetTest.rules());
            }
            Runs.saveStep(hook, 7);
            assertEquals(1, hook.takeFindings().size());
          });
    }
  }

  @Test
  void closingWhileOtherThreadsJudgeIsSafe() throws Exception {
    Runs.finished(folder, 20).close();
    for (int round = 0; round < 30; ++round) {
      Trial trial = Trial.open(folder.toString());
      RuleSet rules = RuleSetTest.rules();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; ++i) {
        Thread thread =
            new Thread(
                () -> {
                  try {
                    for (; ; ) {
                      rules.evaluate(trial);
                      rules.results();
                    }
                  } catch (IllegalStateException expected) {
                    // Closed by another thread.
                  } catch (Throwable unexpected) {
                    failure.set(unexpected);
                  }
                });
        threads.add(thread);
        thread.start();
      }
      Thread.sleep(round % 5);
      if (round % 2 == 0) {
        rules.close();
      } else {
        trial.close();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      rules.close();
      trial.close();
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
    }
  }

  @Test
  void theCleanerFreesWhatNobodyClosed() throws Exception {
    AtomicInteger freed = new AtomicInteger();
    int count = 100;
    for (int i = 0; i < count; ++i) {
      Object owner = new Object();
      new Handle(owner, "the handle", i + 1, address -> freed.incrementAndGet());
    }
    for (int i = 0; i < 200 && freed.get() < count; ++i) {
      collect();
    }
    assertEquals(count, freed.get());
  }

  /** Forgets a hook that writes a step: the writer waits in the log sink until `isOver`. */
  private static void forgetWaitingHook(Path out, CountDownLatch waits, CountDownLatch isOver)
      throws IOException {
    Files.createDirectories(out);
    Files.writeString(out.resolve("events"), "takes the place of a folder");
    Hook hook =
        Hook.builder(out.toString())
            .saveAll()
            .log(
                System.Logger.Level.DEBUG,
                (level, line) -> {
                  waits.countDown();
                  try {
                    isOver.await();
                  } catch (InterruptedException error) {
                    throw new AssertionError(error);
                  }
                })
            .build();
    Runs.saveStep(hook, 0);
  }

  @Test
  void aForgottenHookThatWaitsHoldsUpNoOtherHandle() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch isOver = new CountDownLatch(1);
    try {
      forgetWaitingHook(folder.resolve("run"), waits, isOver);
      waits.await();
      for (int i = 0; i < 5; ++i) {
        collect(); // the cleaner closes the hook
      }
      AtomicInteger freed = new AtomicInteger();
      new Handle(new Object(), "the handle", 1, address -> freed.incrementAndGet());
      for (int i = 0; i < 20 && freed.get() == 0; ++i) {
        collect();
      }
      assertEquals(1, freed.get());
    } finally {
      isOver.countDown();
    }
  }

  @Test
  void whatIsInUseIsFreedByTheLastCall() throws Exception {
    AtomicInteger freed = new AtomicInteger();
    Object owner = new Object();
    Handle handle = new Handle(owner, "the handle", 1, address -> freed.incrementAndGet());
    handle.enter();
    handle.enter();
    handle.close();
    handle.close();
    handle.leave();
    assertEquals(0, freed.get());
    IllegalStateException error = assertThrows(IllegalStateException.class, handle::enter);
    assertEquals("the handle is closed", error.getMessage());
    handle.leave();
    assertEquals(1, freed.get());
    Reference.reachabilityFence(owner);
  }

  @Test
  void closingWhileOtherThreadsReadIsSafe() throws Exception {
    Runs.finished(folder, 3).close();
    for (int round = 0; round < 30; ++round) {
      Trial trial = Trial.open(folder.toString());
      Value shared = trial.tensor("w").value(0);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      CountDownLatch started = new CountDownLatch(4);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; ++i) {
        Thread thread =
            new Thread(
                () -> {
                  try {
                    started.countDown();
                    for (; ; ) {
                      trial.steps();
                      trial.tensorNames();
                      assertEquals(4, shared.toFloatArray().length);
                      trial.tensor("w").value(1).close();
                    }
                  } catch (IllegalStateException expected) {
                    // Closed by another thread.
                  } catch (Throwable unexpected) {
                    failure.set(unexpected);
                  }
                });
        threads.add(thread);
        thread.start();
      }
      started.await();
      Thread.sleep(round % 5);
      shared.close();
      trial.close();
      for (Thread thread : threads) {
        thread.join();
      }
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
    }
  }

  @Test
  void severalThreadsMayClose() throws Exception {
    for (int round = 0; round < 50; ++round) {
      Hook hook = Runs.hook(folder.resolve("run" + round));
      List<Thread> threads = new ArrayList<>();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      for (int i = 0; i < 3; ++i) {
        Thread thread = new Thread(hook::close);
        thread.setUncaughtExceptionHandler((ended, thrown) -> failure.set(thrown));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertNull(failure.get());
    }
  }

  @Test
  void closingWhileOtherThreadsSaveIsSafe() throws Exception {
    for (int round = 0; round < 20; ++round) {
      Hook hook = Runs.hook(folder.resolve("run" + round));
      hook.beginStep();
      List<Thread> threads = new ArrayList<>();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      for (int i = 0; i < 3; ++i) {
        String name = "w" + i;
        float[] data = new float[i == 0 ? 8 : 8192];
        Thread thread =
            new Thread(
                () -> {
                  try {
                    for (; ; ) {
                      hook.save(name, data);
                    }
                  } catch (IllegalStateException expected) {
                    // Closed by another thread.
                  } catch (Throwable unexpected) {
                    failure.set(unexpected);
                  }
                });
        threads.add(thread);
        thread.start();
      }
      Thread.sleep(2);
      hook.close();
      for (Thread thread : threads) {
        thread.join();
      }
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
    }
  }
}
