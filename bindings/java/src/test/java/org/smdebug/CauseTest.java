package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class CauseTest {
  @TempDir Path folder;

  @Test
  void namesTheLikelyCause() {
    try (Hook hook = Runs.hook(folder)) {
      for (int step = 0; step < 40; ++step) {
        hook.beginStep();
        hook.save(
            "log_output_0", new float[] {0.5f, step < 33 ? 1 : Float.POSITIVE_INFINITY});
        hook.endStep();
      }
    }
    try (Trial trial = Trial.open(folder.toString());
        RuleSet rules =
            new RuleSet().add("ExplodingTensor", Action.WARN).add("FirstNonFinite", Action.WARN)) {
      assertEquals(List.of(), rules.diagnose());
      rules.evaluate(trial);
      List<Cause> causes = rules.diagnose();
      Cause first = causes.get(0);
      assertTrue(causes.size() <= 3);
      assertEquals("undefined_operation", first.id());
      assertTrue(first.confidence() > 0 && first.confidence() < 1);
      assertTrue(first.toString().startsWith(first.title()));
      assertEquals(33, first.evidence().get(0).first().step());
      assertEquals("log_output_0", first.evidence().get(0).first().tensor());
      assertEquals(1, first.evidence().get(0).tensorCount());
    }
  }
}
