import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.smdebug.ErrorCode;
import org.smdebug.SmdebugException;

/**
 * Makes each call of a job in Java fail in turn: FailingCalls FOLDER STRIDE. Load failing_calls.c
 * before the C library. Prints the number of calls of each kind, or the bug that it found.
 */
final class FailingCalls {
  private static final int MEMORY = 1;
  private static final int CALLS = 2;
  private static final int SHORT = -1;
  private static final int EINTR = 4;
  private static final int EIO = 5;
  private static final int EMFILE = 24;
  private static final int ENOSPC = 28;
  private static final int SECONDS = 30;
  private static final int ROUNDS = 12;
  private static final Set<ErrorCode> OF_MEMORY = Set.of(ErrorCode.OUT_OF_MEMORY);
  private static final Set<ErrorCode> OF_CALLS =
      Set.of(ErrorCode.IO, ErrorCode.NO_SPACE, ErrorCode.OUT_OF_MEMORY);

  /** The calls that fail, and the codes that the failure explains. */
  private record Kind(String name, int group, int error, boolean on, Set<ErrorCode> codes) {
    boolean explains(Throwable thrown) {
      if (thrown instanceof OutOfMemoryError) {
        return true;
      }
      SmdebugException error = SmdebugException.of(thrown);
      if (error == null) {
        return false;
      }
      boolean isThread = group == MEMORY && error.getMessage().contains("starting a thread");
      return isThread || codes.contains(error.code());
    }
  }

  private static final Kind[] KINDS = {
    new Kind("memory", MEMORY, 0, false, OF_MEMORY),
    new Kind("memory from there on", MEMORY, 0, true, OF_MEMORY),
    new Kind("EIO", CALLS, EIO, false, OF_CALLS),
    new Kind("EINTR", CALLS, EINTR, false, OF_CALLS),
    new Kind("EMFILE", CALLS, EMFILE, false, OF_CALLS),
    new Kind("ENOSPC from there on", CALLS, ENOSPC, true, OF_CALLS),
    new Kind("short", CALLS, SHORT, false, Set.of()),
  };

  private final Path scratch;
  private final int stride;

  private FailingCalls(Path scratch, int stride) {
    this.scratch = scratch;
    this.stride = stride;
  }

  private static native void arm(int group, long number, int error, boolean on);

  private static native long disarm();

  private static native long allocations();

  /** Makes a call fail; returns the number of calls. */
  private long perform(Kind kind, long number) throws IOException {
    Job failing = new Job(scratch.resolve("failing").toString());
    Job again = new Job(scratch.resolve("again").toString());
    arm(kind.group(), number, kind.error(), kind.on());
    failing.record();
    failing.read();
    long count = disarm();
    for (Throwable thrown : failing.thrown) {
      require(kind.explains(thrown), "a wrong error", thrown);
    }
    failing.thrown.clear();
    failing.look();
    again.record();
    again.look();
    for (Job job : new Job[] {failing, again}) {
      require(job.thrown.isEmpty(), "a failure later", job.thrown.stream().findAny().orElse(null));
    }
    require(again.durable.size() == Job.STEPS, "the next job does not record", null);
    clear();
    return count;
  }

  private static void require(boolean isSo, String what, Throwable cause) {
    if (!isSo) {
      throw new AssertionError(what, cause);
    }
  }

  private void clear() throws IOException {
    try (Stream<Path> files = Files.walk(scratch)) {
      files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    }
  }

  private static int openFiles() {
    return new File("/proc/self/fd").list().length;
  }

  /** Returns the allocations of a job that remain after Java has freed its objects. */
  private static long left(long before) throws InterruptedException {
    for (int i = 0; i < 50 && allocations() > before; ++i) {
      System.gc();
      Thread.sleep(1);
    }
    return Math.max(0, allocations() - before);
  }

  /** Repeats a job, because the virtual machine allocates at times; a leak occurs every time. */
  private long performWithoutLeak(Kind kind, long number) throws Exception {
    long count = 0;
    long left = 1;
    int files = openFiles();
    for (int round = 0; round < ROUNDS && left > 0; ++round) {
      long before = allocations();
      count = perform(kind, number);
      left = left(before);
    }
    require(left == 0, left + " allocations are left behind", null);
    require(openFiles() <= files, "files are left open", null);
    return count;
  }

  private void run(Kind kind, ExecutorService thread) throws Exception {
    long count;
    long number = 1;
    do {
      long now = number;
      try {
        count = thread.submit(() -> performWithoutLeak(kind, now)).get(SECONDS, TimeUnit.SECONDS);
      } catch (Exception error) {
        throw new Exception(kind.name() + ", call " + number, error);
      }
      number += stride;
    } while (count >= number - stride);
    System.out.println(kind.name() + ": " + count + " calls");
  }

  public static void main(String[] arguments) {
    System.loadLibrary("failing_calls");
    FailingCalls all = new FailingCalls(Path.of(arguments[0]), Integer.parseInt(arguments[1]));
    ExecutorService thread = Executors.newSingleThreadExecutor();
    int status = 1;
    try {
      // Load the classes, which stay.
      all.perform(KINDS[0], Long.MAX_VALUE);
      for (Kind kind : KINDS) {
        all.run(kind, thread);
      }
      status = 0;
    } catch (Exception | AssertionError error) {
      error.printStackTrace(System.out);
    }
    // Do not wait for a job that hangs.
    Runtime.getRuntime().halt(status);
  }
}
