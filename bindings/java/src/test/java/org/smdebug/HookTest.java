package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.Charset;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class HookTest {
  private static final String EMOJI = "層/😀𝄞 ü";

  @TempDir Path folder;

  private Trial recorded(Consumer<Hook> save) {
    try (Hook hook = Runs.hook(folder)) {
      hook.beginStep();
      save.accept(hook);
      hook.endStep();
    }
    return Trial.open(folder.toString());
  }

  @Test
  void aConfigurationFileIsTaken() throws IOException {
    Path run = folder.resolve("run");
    Path file = folder.resolve("hook.json");
    Files.writeString(
        file,
        "{\"LocalPath\": \"nowhere\", \"HookParameters\": {\"save_all\": true, \"save_interval\": \"2\"}}");
    try (Hook hook = Hook.builder(run.toString()).configuration(file).build()) {
      for (int step = 0; step < 3; ++step) {
        hook.beginStep();
        hook.save("loss", 1.0);
        hook.endStep();
      }
    }
    try (Trial trial = Trial.open(run.toString())) {
      assertArrayEquals(new long[] {0, 2}, trial.steps().toArray());
    }
    Hook.Builder missing = Hook.builder().configuration(folder.resolve("missing.json"));
    assertEquals(ErrorCode.NOT_FOUND, assertThrows(SmdebugException.class, missing::build).code());
  }

  @Test
  void includedCollectionsAddUp() {
    Hook.Builder builder = Hook.builder(folder.toString()).saveConfig(SaveConfig.every(1));
    assertThrows(IllegalArgumentException.class, () -> builder.includeCollections("a", "b,c"));
    builder.includeCollections("weights").includeCollections("gradients");
    try (Hook hook = builder.build()) {
      hook.beginStep();
      assertTrue(hook.wants("layer.weight"));
      assertTrue(hook.wants("gradient/x"));
      assertFalse(hook.wants("b"));
    }
  }

  @Test
  void aCloseWaitsForTheOneThatHasBegun() throws InterruptedException {
    Hook hook = Runs.hook(folder);
    for (int step = 0; step < 3; ++step) {
      hook.beginStep();
      hook.save("x", new float[4 << 20]);
      hook.endStep();
    }
    Thread first = new Thread(hook::close);
    first.start();
    hook.close();
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(3, trial.steps().count());
      assertTrue(trial.hasEnded());
    }
    first.join();
  }

  @Test
  void metadataIsRecorded() {
    try (Trial trial =
        recorded(
            hook -> {
              hook.setMetadata("rate", "0.1");
              hook.setMetadata("note", EMOJI);
              assertThrows(IllegalArgumentException.class, () -> hook.setMetadata("", "x"));
              hook.save("loss", 1.0);
            })) {
      assertEquals("0.1", trial.metadata().get("rate"));
      assertEquals(EMOJI, trial.metadata().get("note"));
      assertEquals(System.getProperty("java.version"), trial.metadata().get("run.java"));
      assertTrue(trial.metadata().containsKey("run.host"));
    }
  }

  @Test
  void whatIsShownInTensorboardIsAskedFor() throws IOException {
    Path run = folder.resolve("run");
    Path board = folder.resolve("board");
    try (Hook hook =
        Hook.builder(run.toString()).saveAll().exportTensorboard().tensorboardDir(board).build()) {
      hook.beginStep();
      assertTrue(hook.savesStep());
      hook.save("loss", 1.0);
      hook.endStep();
      hook.beginStep();
      assertFalse(hook.savesStep());
      hook.addToStep("losses");
      assertTrue(hook.savesStep());
      hook.save("loss", 1.0);
      hook.endStep();
    }
    try (Stream<Path> files = Files.list(board.resolve("GLOBAL"))) {
      assertEquals(2, files.count());
    }
    Path later = folder.resolve("later");
    try (Trial trial = Trial.open(run.toString())) {
      assertEquals(2, trial.steps().count());
      trial.exportTensorboard(later);
    }
    assertTrue(Files.size(later.resolve("GLOBAL").resolve("events.out.tfevents.smdebug")) > 100);
  }

  @Test
  void everyArrayTypeIsSavedAndRead() {
    Trial trial =
        recorded(
            hook -> {
              hook.save("float", new float[] {1.5f, -2}, 2, 1);
              hook.save("double", new double[] {1.5, Double.MIN_VALUE});
              hook.save("int", new int[] {Integer.MIN_VALUE, 7});
              hook.save("long", new long[] {Long.MAX_VALUE});
              hook.save("short", new short[] {Short.MIN_VALUE});
              hook.save("byte", new byte[] {-128, 127});
              hook.save("boolean", new boolean[] {true, false, true});
              hook.save("string", new String[] {"loss", "", EMOJI, "d"}, 2, 2);
              hook.save("empty", new float[0], 0, 3);
            });
    try (trial) {
      try (Value value = trial.tensor("float").value(0)) {
        assertEquals(DType.FLOAT32, value.dtype());
        assertArrayEquals(new long[] {2, 1}, value.shape());
        assertArrayEquals(new float[] {1.5f, -2}, value.toFloatArray());
      }
      assertArrayEquals(
          new double[] {1.5, Double.MIN_VALUE}, trial.tensor("double").value(0).toDoubleArray());
      assertArrayEquals(
          new int[] {Integer.MIN_VALUE, 7}, trial.tensor("int").value(0).toIntArray());
      assertArrayEquals(new long[] {Long.MAX_VALUE}, trial.tensor("long").value(0).toLongArray());
      assertArrayEquals(new int[] {Short.MIN_VALUE}, trial.tensor("short").value(0).toIntArray());
      assertArrayEquals(new int[] {-128, 127}, trial.tensor("byte").value(0).toIntArray());
      assertArrayEquals(
          new boolean[] {true, false, true}, trial.tensor("boolean").value(0).toBooleanArray());
      assertEquals(List.of("loss", "", EMOJI, "d"), trial.tensor("string").value(0).strings());
      assertArrayEquals(new long[] {0, 3}, trial.tensor("empty").value(0).shape());
      assertEquals(0, trial.tensor("empty").value(0).toFloatArray().length);
    }
  }

  @Test
  void scalarsHaveNoDimension() {
    Trial trial =
        recorded(
            hook -> {
              hook.save("f", 0.5f);
              hook.save("d", 0.25);
              hook.save("i", 3);
              hook.save("l", 1L << 40);
              hook.save("b", true);
              hook.save("s", EMOJI);
              hook.saveScalar("rate", 0.125);
            });
    try (trial) {
      assertEquals(0, trial.tensor("f").value(0).shape().length);
      assertEquals(DType.FLOAT32, trial.tensor("f").value(0).dtype());
      assertEquals(0.5, trial.tensor("f").value(0).toDouble());
      assertEquals(0.25, trial.tensor("d").value(0).toDouble());
      assertEquals(3, trial.tensor("i").value(0).toDouble());
      assertArrayEquals(new long[] {1L << 40}, trial.tensor("l").value(0).toLongArray());
      assertArrayEquals(new boolean[] {true}, trial.tensor("b").value(0).toBooleanArray());
      assertEquals(List.of(EMOJI), trial.tensor("s").value(0).strings());
      assertEquals(0.125, trial.tensor("scalar/rate").value(0).toDouble());
    }
  }

  @Test
  void buffersAreSavedBetweenPositionAndLimit() {
    byte[] heap = {9, 1, 0, 2, 0, 9};
    ByteBuffer direct = ByteBuffer.allocateDirect(40).order(ByteOrder.nativeOrder());
    for (int i = 0; i < 10; ++i) {
      direct.putFloat(i);
    }
    direct.position(8).limit(24);
    Trial trial =
        recorded(
            hook -> {
              hook.save("direct", DType.FLOAT32, direct, 2, 2);
              hook.save(
                  "read-only", DType.FLOAT32, direct.asReadOnlyBuffer().order(direct.order()));
              ByteBuffer part = ByteBuffer.wrap(heap, 1, 4).order(ByteOrder.nativeOrder());
              hook.save("heap", DType.UINT16, part);
              hook.save("slice", DType.UINT16, part.slice().order(ByteOrder.nativeOrder()), 1, 2);
              hook.save("half", DType.FLOAT16, part.duplicate().order(ByteOrder.nativeOrder()));
            });
    assertEquals(8, direct.position());
    try (trial) {
      assertArrayEquals(new float[] {2, 3, 4, 5}, trial.tensor("direct").value(0).toFloatArray());
      assertArrayEquals(new long[] {4}, trial.tensor("read-only").value(0).shape());
      assertArrayEquals(new int[] {1, 2}, trial.tensor("heap").value(0).toIntArray());
      assertArrayEquals(new long[] {1, 2}, trial.tensor("slice").value(0).shape());
      assertEquals(DType.FLOAT16, trial.tensor("half").value(0).dtype());
    }
  }

  @Test
  void buffersOfNumbersAreSavedWhateverTheyLieIn() {
    for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
      for (boolean isDirect : List.of(true, false)) {
        ByteBuffer bytes = isDirect ? ByteBuffer.allocateDirect(64) : ByteBuffer.allocate(64);
        buffersAreSaved(
            bytes.order(order).asFloatBuffer(),
            bytes.duplicate().order(order).asDoubleBuffer(),
            bytes.duplicate().order(order).asIntBuffer(),
            bytes.duplicate().order(order).asLongBuffer());
      }
    }
    buffersAreSaved(
        FloatBuffer.allocate(5), DoubleBuffer.allocate(5), IntBuffer.allocate(5), LongBuffer.allocate(5));
  }

  /** Saves elements 1 and 2 of each, and a read-only slice of them. */
  private void buffersAreSaved(
      FloatBuffer floats, DoubleBuffer doubles, IntBuffer ints, LongBuffer longs) {
    Path run = folder.resolve("run" + runs++);
    try (Hook hook = Runs.hook(run)) {
      hook.beginStep();
      hook.save("float", floats.put(1, 1.5f).put(2, -2).position(1).limit(3), 2, 1);
      assertEquals(1, floats.position());
      hook.save("float slice", floats.slice().asReadOnlyBuffer());
      hook.save("double", doubles.put(1, 1.5).put(2, 1e300).position(1).limit(3));
      hook.save("double slice", doubles.slice().asReadOnlyBuffer());
      hook.save("int", ints.put(1, 1).put(2, Integer.MIN_VALUE).position(1).limit(3));
      hook.save("int slice", ints.slice().asReadOnlyBuffer());
      hook.save("long", longs.put(1, 1).put(2, Long.MIN_VALUE).position(1).limit(3));
      hook.save("long slice", longs.slice().asReadOnlyBuffer());
      hook.save("empty", floats.limit(1));
      assertMessage("[2]", () -> hook.save("misfit", longs.limit(2), 2));
      assertThrows(NullPointerException.class, () -> hook.save("null", (LongBuffer) null));
      hook.endStep();
    }
    try (Trial trial = Trial.open(run)) {
      assertArrayEquals(new long[] {2, 1}, trial.tensor("float").value(0).shape());
      assertArrayEquals(new long[] {0}, trial.tensor("empty").value(0).shape());
    }
    // The buffers overlap, so each is compared with what it held when it was saved.
    assertSaved(run, "float", value -> assertArrayEquals(new float[] {1.5f, -2}, value.toFloatArray()));
    assertSaved(run, "double", value -> assertArrayEquals(new double[] {1.5, 1e300}, value.toDoubleArray()));
    assertSaved(run, "int", value -> assertArrayEquals(new int[] {1, Integer.MIN_VALUE}, value.toIntArray()));
    assertSaved(run, "long", value -> assertArrayEquals(new long[] {1, Long.MIN_VALUE}, value.toLongArray()));
  }

  private int runs;

  private static void assertSaved(Path run, String name, Consumer<Value> check) {
    try (Trial trial = Trial.open(run)) {
      for (String saved : List.of(name, name + " slice")) {
        try (Tensor tensor = trial.tensor(saved);
            Value value = tensor.value(0)) {
          check.accept(value);
        }
      }
    }
  }

  @Test
  void foldersAreTakenAsPaths() throws IOException {
    // In the locale C, Java has no file names but those of ASCII.
    Charset names = Charset.forName(System.getProperty("sun.jnu.encoding"));
    Path run = folder.resolve(names.newEncoder().canEncode("層 ü") ? "層 ü" : "a b");
    try (Hook hook = Hook.builder(run).saveAll().build()) {
      Runs.saveStep(hook, 0);
    }
    try (Trial trial = Trial.builder(run).name("mine").open();
        Trial same = Trial.open(run)) {
      assertEquals("mine", trial.name());
      assertEquals(run.toString(), same.path());
    }
    assertTrue(StoreReport.check(run).isGood());
    assertEquals(".", Folders.textOf(Path.of("")));
    Path bucket = Path.of("s3://bucket/run");
    assertMessage("as a String", () -> Hook.builder(bucket));
    assertMessage("as a String", () -> Trial.open(bucket));
    assertMessage("as a String", () -> StoreReport.check(bucket));
    Path zip = folder.resolve("a.zip");
    try (FileSystem files = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
      assertMessage("default file system", () -> Trial.open(files.getPath("/run")));
    }
    assertThrows(NullPointerException.class, () -> Trial.open((Path) null));
  }

  @Test
  void buffersThatCannotBeSavedAreRefused() {
    try (Hook hook = Runs.hook(folder)) {
      hook.beginStep();
      ByteBuffer big = ByteBuffer.allocateDirect(8).order(ByteOrder.BIG_ENDIAN);
      assertMessage("nativeOrder", () -> hook.save("b", DType.FLOAT32, big));
      hook.save("bytes have no order", DType.INT8, big);
      ByteBuffer readOnly =
          ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).asReadOnlyBuffer();
      assertMessage(
          "read-only", () -> hook.save("r", DType.INT32, readOnly.order(ByteOrder.nativeOrder())));
      ByteBuffer odd = ByteBuffer.allocate(7).order(ByteOrder.nativeOrder());
      assertMessage("7 bytes", () -> hook.save("o", DType.INT32, odd));
      assertMessage("String[]", () -> hook.save("s", DType.STRING, odd));
    }
  }

  @Test
  void shapesMustFit() {
    try (Hook hook = Runs.hook(folder)) {
      hook.beginStep();
      float[] data = new float[6];
      assertMessage("[2, 2]", () -> hook.save("w", data, 2, 2));
      assertMessage("[-1, -6]", () -> hook.save("w", data, -1, -6));
      assertMessage("6 elements", () -> hook.save("w", data, 1L << 62, 4, 6));
      assertMessage("6 elements", () -> hook.save("w", data, 1L << 32, 1L << 32, 6));
      assertMessage("dimensions", () -> hook.save("w", new float[1], new long[33]));
      assertThrows(NullPointerException.class, () -> hook.save("w", (float[]) null));
      assertThrows(NullPointerException.class, () -> hook.save(null, data));
      assertThrows(NullPointerException.class, () -> hook.save("w", new String[] {null}));
    }
  }

  @Test
  void largeArraysAreSavedWhole() {
    float[] large = new float[100_000];
    for (int i = 0; i < large.length; ++i) {
      large[i] = i;
    }
    long[] custom = new long[5000];
    custom[4999] = 7;
    String longName = "n".repeat(1000) + EMOJI;
    Trial trial =
        recorded(
            hook -> {
              hook.save(longName, large, 100, 1000);
              hook.into("kept").save("custom", custom);
            });
    try (trial) {
      assertArrayEquals(large, trial.tensor(longName).value(0).toFloatArray());
      assertArrayEquals(custom, trial.tensor("custom").value(0).toLongArray());
      assertEquals(List.of("custom"), trial.tensorNamesIn("kept"));
    }
  }

  @Test
  void namesAreUtf8InBothDirections() {
    String name = EMOJI + "?";
    try (Trial trial = recorded(hook -> hook.save(name, new float[] {1}))) {
      assertEquals(List.of(name), trial.tensorNames());
      assertEquals(name, trial.tensor(name).name());
      assertTrue(trial.hasTensor(name));
      assertFalse(trial.hasTensor(EMOJI));
    }
    try (Hook hook = Runs.hook(folder.resolve("other"))) {
      hook.beginStep();
      assertMessage("NUL", () -> hook.save("a\0b", 1.0));
      assertMessage("NUL", () -> hook.save("a", new String[] {"\0"}));
      assertMessage("surrogate", () -> hook.save("half \uD83D", 1.0));
      assertMessage("surrogate", () -> hook.save("\uDE00 turned \uD83D", 1.0));
    }
  }

  @Test
  void whatNobodyWantsIsPassedOver() {
    try (Hook hook =
        Hook.builder(folder.toString())
            .includeRegex("^kept")
            .saveConfig(SaveConfig.every(1))
            .build()) {
      hook.beginStep();
      assertTrue(hook.wants("kept"));
      assertFalse(hook.wants("dropped"));
      hook.save("kept", new float[100_000]);
      hook.save("dropped", new float[100_000]);
      hook.save("dropped too", 1.0);
      hook.endStep();
    }
    try (Trial trial = Trial.open(folder.toString())) {
      assertEquals(List.of("kept"), trial.tensorNames());
    }
  }

  @Test
  void callsAtTheWrongMomentAreIllegalStates() {
    Hook hook = Runs.hook(folder);
    for (float[] data : List.of(new float[1], new float[100_000])) {
      IllegalStateException error =
          assertThrows(IllegalStateException.class, () -> hook.save("w", data));
      assertEquals(ErrorCode.WRONG_STATE, SmdebugException.of(error).code());
    }
    assertThrows(IllegalStateException.class, hook::endStep);
    hook.beginStep();
    assertThrows(IllegalStateException.class, hook::beginStep);
    hook.endStep();
    hook.close();
    hook.close();
    IllegalStateException closed =
        assertThrows(IllegalStateException.class, () -> hook.save("w", 1.0));
    assertEquals("the hook is closed", closed.getMessage());
    assertThrows(IllegalStateException.class, hook::beginStep);
    assertThrows(IllegalStateException.class, () -> hook.into("c").save("w", 1.0));
  }

  @Test
  void stepsAreCounted() throws InterruptedException {
    try (Hook hook = Runs.hook(folder)) {
      assertEquals(Mode.GLOBAL, hook.mode());
      assertEquals(0, hook.beginStep(Mode.TRAIN));
      hook.endStep();
      assertEquals(1, hook.beginStep(Mode.EVAL));
      hook.save("w", 1.0);
      hook.endStep();
      assertEquals(Mode.EVAL, hook.mode());
      assertEquals(0, hook.lastStep(Mode.TRAIN));
      assertEquals(0, hook.lastStep(Mode.EVAL));
      assertEquals(1, hook.lastStep(Mode.GLOBAL));
      assertEquals(-1, hook.lastStep(Mode.PREDICT));
      assertTrue(hook.isRecording());
      hook.flush(Duration.ofSeconds(30));
      hook.flush();
      assertEquals(1, hook.count("tensors_written"));
      assertEquals(-1, hook.count("unknown"));
      assertTrue(hook.collectionNames().contains("losses"));
    }
  }

  @Test
  void errorsOfTheBackgroundWaitForFlushAndClose() throws IOException {
    Path run = folder.resolve("run");
    Hook hook = Runs.hook(run);
    // A file is at the path of a folder.
    Files.createDirectories(run);
    Files.writeString(run.resolve("events"), "");
    hook.beginStep();
    hook.save("w", 1.0);
    hook.endStep();
    assertThrows(StorageException.class, hook::flush);
    hook.beginStep();
    hook.save("w", 1.0);
    hook.endStep();
    StorageException error = assertThrows(StorageException.class, hook::close);
    assertTrue(error.getMessage().contains("events"), error.getMessage());
    hook.close();
  }

  private static void assertMessage(String part, Executable call) {
    IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
    assertTrue(error.getMessage().contains(part), error.getMessage());
  }
}
