package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.smdebug.SmdebugException.Facts;

class ErrorsTest {
  private static final Pattern ROW = Pattern.compile("\\| (`[A-Z_`, ]+`) \\| `(\\w+)`(.*) \\|");

  private static RuntimeException exception(ErrorCode code, Map<String, String> details) {
    return Errors.exception(new Facts(code, "message", false, details));
  }

  @Test
  void everyCodeBecomesWhatTheGuideSays() throws Exception {
    Map<ErrorCode, String> documented = new EnumMap<>(ErrorCode.class);
    for (String line : Files.readAllLines(Path.of("../../docs/java.md"))) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        for (String code : row.group(1).split(", ")) {
          documented.put(ErrorCode.valueOf(code.replace("`", "")), row.group(2));
        }
      }
    }
    for (ErrorCode code : ErrorCode.values()) {
      // One of them is not an error code; the other belongs to the loader.
      if (code == ErrorCode.OK || code == ErrorCode.ABI_MISMATCH) {
        continue;
      }
      RuntimeException exception = exception(code, Map.of());
      assertEquals(documented.get(code), exception.getClass().getSimpleName(), code.name());
      assertSame(code, SmdebugException.of(exception).code());
      assertEquals("message", exception.getMessage());
    }
  }

  @Test
  void aServerThatIsTooSlowIsNotTheEndOfAWait() {
    assertInstanceOf(WaitTimeoutException.class, exception(ErrorCode.TIMEOUT, Map.of()));
    for (String key : new String[] {"cause", "s3_code"}) {
      assertInstanceOf(
          StorageException.class, exception(ErrorCode.TIMEOUT, Map.of(key, "RequestTimeout")));
    }
  }
}
