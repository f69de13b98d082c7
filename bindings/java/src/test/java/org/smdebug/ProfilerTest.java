package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ProfilerTest {
  @TempDir Path folder;

  private String timelines() throws IOException {
    StringBuilder all = new StringBuilder();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(each -> each.toString().endsWith("timeline.json")).toList()) {
        all.append(Files.readString(file));
      }
    }
    return all.toString();
  }

  @Test
  void eventsAreRecorded() throws IOException, InterruptedException {
    Profiler profiler = Profiler.builder(folder.toString()).option("node", "7-host").build();
    try (Profiler.Span span = profiler.span("load", "DataLoaderIter", 3)) {
      assertNotNull(span);
    }
    profiler.event("copy", "Copies", Profiler.NO_STEP, profiler.now(), 250, "{\"bytes\": 9}");
    profiler.instant("mark", "mark", 4);
    profiler.flush(Duration.ofSeconds(20));
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> profiler.flush(null));
    assertEquals(3, profiler.count("events_written"));
    assertThrows(
        IllegalArgumentException.class, () -> profiler.event("e", "p", 0, 0, 0, "no JSON"));
    assertThrows(IllegalArgumentException.class, () -> profiler.event("", "p", 0, 0, 0));
    profiler.close();
    profiler.close();
    assertThrows(IllegalStateException.class, () -> profiler.event("e", "p", 0, 0, 0));
    String text = timelines();
    for (String expected :
        List.of("\"dur\": 250", "\"bytes\": 9", "\"step_num\": \"3\"", "\"ph\": \"i\"")) {
      assertTrue(text.contains(expected), expected);
    }
  }

  @Test
  void theConfigurationIsFollowed() throws IOException {
    Path file = folder.resolve("profilerconfig.json");
    List<String> lines = new ArrayList<>();
    try (Profiler profiler =
        Profiler.builder()
            .log(System.Logger.Level.WARNING, (level, line) -> lines.add(line))
            .follow(file)) {
      assertFalse(profiler.update());
      String text =
          "{\"ProfilingParameters\": {\"LocalPath\": \"%s\", \"Unknown\": 1, "
              + "\"DetailedProfilingConfig\": \"{'StartStep': 2}\"}}";
      Files.writeString(file, text.formatted(folder.resolve("p")));
      assertTrue(profiler.update());
      assertTrue(profiler.isActive("detailed", 2));
      assertFalse(profiler.isActive("detailed", 3));
      assertFalse(profiler.isActive("other", 2));
    }
    assertTrue(lines.toString().contains("Unknown"), lines.toString());
    Files.writeString(file, "no json");
    assertThrows(InvalidConfigException.class, () -> Profiler.builder().follow(file));
  }

  @Test
  void rulesReadAProfile() throws IOException {
    try (Profiler profiler = Profiler.builder(folder).build()) {
      long start = profiler.now();
      for (int step = 0; step < 60; ++step) {
        long begin = start + 10_000L * step;
        profiler.event("step", "Step:ModeKeys.TRAIN", step, begin, 10_000);
        profiler.event("next", "DataLoaderIter", step, begin, 6_000);
      }
    }
    ProfileEvaluation evaluation =
        ProfileEvaluation.of(
            folder,
            RuleSet.Profile.CALIBRATED,
            List.of("DataLoaderStarves", "StepOutlier"),
            Map.of("DataLoaderStarves_share", "0.5"));
    assertEquals(1, evaluation.findings().size());
    assertEquals("data wait", evaluation.findings().get(0).tensor());
    assertEquals(2, evaluation.results().size());
    assertTrue(evaluation.charts().contains("data wait"));
    Path trace = folder.resolve("trace.json");
    ProfileEvaluation.writeTimeline(folder, trace);
    assertTrue(Files.readString(trace).contains("DataLoaderIter"));
    assertEquals(
        ProfileEvaluation.of(folder.toString()).findings(), ProfileEvaluation.of(folder).findings());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ProfileEvaluation.of(
                folder.toString(), RuleSet.Profile.AWS, List.of("Nothing"), Map.of()));
  }

  @Test
  void aBucketIsNoPath() {
    Path bucket = Path.of("s3://bucket/profile");
    for (Executable call :
        List.<Executable>of(
            () -> Profiler.builder(bucket),
            () -> ProfileEvaluation.of(bucket),
            () ->
                ProfileEvaluation.of(bucket, RuleSet.Profile.CALIBRATED, List.of(), Map.of()),
            () -> ProfileEvaluation.writeTimeline(bucket, folder.resolve("trace.json")))) {
      String said = assertThrows(IllegalArgumentException.class, call).getMessage();
      assertTrue(said.contains("pass a bucket as a String"), said);
    }
  }
}
