package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks each way to find the native library, in a virtual machine of its own. */
class LoaderTest {
  @TempDir Path folder;

  /** The program that the virtual machines run. */
  public static final class Program {
    private Program() {}

    public static void main(String[] arguments) {
      System.out.println("version " + Library.version());
    }
  }

  private String run(String classes, String... options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", classes, Program.class.getName()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  private static String here(Class<?> type) throws Exception {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
  }

  private static String classes() throws Exception {
    return here(Library.class) + File.pathSeparator + here(LoaderTest.class);
  }

  /** Returns the classes without the native libraries. */
  private String bareClasses() throws Exception {
    Path from = Path.of(here(Library.class));
    Path to = folder.resolve("bare");
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path relative = from.relativize(file);
        if (!relative.startsWith("native")) {
          Files.createDirectories(to.resolve(relative).getParent());
          Files.copy(file, to.resolve(relative));
        }
      }
    }
    return to + File.pathSeparator + here(LoaderTest.class);
  }

  private Path natives() throws IOException {
    Path to = Files.createDirectories(folder.resolve("natives"));
    for (String name : new String[] {"libsmdebug.so.1", "libsmdebug_jni.so"}) {
      String resource = "/native/linux-" + architecture() + "/" + name;
      try (InputStream content = Library.class.getResourceAsStream(resource)) {
        Files.copy(content, to.resolve(name));
      }
    }
    return to;
  }

  private static String architecture() {
    String architecture = System.getProperty("os.arch");
    return architecture.equals("amd64") ? "x86_64" : architecture;
  }

  @Test
  void fromTheJarAndNothingIsLeftBehind() throws Exception {
    Path temporary = Files.createDirectory(folder.resolve("tmp"));
    assertEquals("version " + System.getProperty("smdebug.version") + "\n", run(classes(), "-Djava.io.tmpdir=" + temporary));
    try (Stream<Path> left = Files.list(temporary)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void fromTheFolderOfTheProperty() throws Exception {
    Path natives = natives();
    assertEquals("version " + System.getProperty("smdebug.version") + "\n", run(bareClasses(), "-Dsmdebug.native.path=" + natives));
  }

  @Test
  void fromWhereTheSystemLooks() throws Exception {
    Path natives = natives();
    assertEquals("version " + System.getProperty("smdebug.version") + "\n", run(bareClasses(), "-Djava.library.path=" + natives));
  }

  @Test
  void aWrongPropertyIsExplained() throws Exception {
    String said = run(classes(), "-Dsmdebug.native.path=" + folder);
    String file = folder.resolve("libsmdebug.so.1").toString();
    assertContains(said, "UnsatisfiedLinkError");
    assertContains(said, "there is no " + file);
    assertContains(said, "Set the property to the folder that holds");
  }

  @Test
  void aPlatformWithoutNativesIsExplained() throws Exception {
    String said = run(classes(), "-Dos.arch=vax");
    assertContains(said, "for linux-vax cannot be loaded");
    assertContains(said, "the jar has no native/linux-vax/libsmdebug_jni.so");
    assertContains(said, "-Dsmdebug.native.path");
  }

  @Test
  void aMissingDependencyIsNamed() throws Exception {
    Path natives = natives();
    // Replaces the name of a required library by the name of a missing one.
    Path core = natives.resolve("libsmdebug.so.1");
    byte[] content = Files.readAllBytes(core);
    int at = indexOf(content, "libc.so.6\0");
    content[at + 3] = 'x';
    Files.write(core, content);
    String said = run(bareClasses(), "-Dsmdebug.native.path=" + natives);
    assertContains(said, "libx.so.6: cannot open shared object file");
    assertContains(said, "If a library that it needs is named, install that");
  }

  private static int indexOf(byte[] content, String text) {
    String latin = new String(content, StandardCharsets.ISO_8859_1);
    int at = latin.indexOf(text);
    assertTrue(at > 0, text);
    return at;
  }

  private static void assertContains(String text, String part) {
    assertTrue(text.contains(part), text);
  }
}
