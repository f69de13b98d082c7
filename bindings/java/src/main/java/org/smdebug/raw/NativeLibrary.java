package org.smdebug.raw;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Loads the shared libraries from a given folder, the jar, or the system's search path. */
final class NativeLibrary {
  private static final String PROPERTY = "smdebug.native.path";
  private static final String CORE = "libsmdebug.so.1";
  private static final String JNI = "libsmdebug_jni.so";
  private static final Object LOCK = new Object();

  private static boolean isLoaded;

  private NativeLibrary() {}

  /** Loads the libraries once; an UnsatisfiedLinkError says what is missing and what to do. */
  static void load() {
    synchronized (LOCK) {
      if (isLoaded) {
        return;
      }
      loadSomewhere();
      isLoaded = true;
    }
    requireAbi();
  }

  private static void loadSomewhere() {
    String folder = System.getProperty(PROPERTY);
    if (folder != null) {
      loadFrom(Path.of(folder));
      return;
    }
    String inJar = loadFromJar();
    if (inJar == null) {
      return;
    }
    try {
      System.loadLibrary("smdebug_jni");
    } catch (UnsatisfiedLinkError error) {
      throw failure(
          inJar + "; nor does the system find it: " + error.getMessage(),
          "Use a jar made for this platform, or set -D"
              + PROPERTY
              + " to the folder of "
              + CORE
              + " and "
              + JNI,
          error);
    }
  }

  private static void loadFrom(Path folder) {
    for (String name : new String[] {CORE, JNI}) {
      Path file = folder.resolve(name).toAbsolutePath();
      if (!Files.isRegularFile(file)) {
        throw failure(
            "there is no " + file + " (-D" + PROPERTY + "=" + folder + ")",
            "Set the property to the folder that holds " + CORE + " and " + JNI,
            null);
      }
      loadFile(file);
    }
  }

  private static void loadFile(Path file) {
    try {
      System.load(file.toString());
    } catch (UnsatisfiedLinkError error) {
      throw failure(
          error.getMessage(),
          "If a library that it needs is named, install that; if the folder may not hold programs"
              + " (noexec), set -Djava.io.tmpdir or -D"
              + PROPERTY
              + " to one that may",
          error);
    }
  }

  /** Loads the libraries from the jar; returns null, or why it has none. */
  private static String loadFromJar() {
    String resources = "/native/" + platform() + "/";
    if (NativeLibrary.class.getResource(resources + JNI) == null) {
      return "the jar has no " + resources.substring(1) + JNI;
    }
    try {
      // The folder is private to this user.
      Path folder = Files.createTempDirectory("smdebug-");
      try {
        extract(resources, CORE, folder);
        extract(resources, JNI, folder);
        loadFrom(folder);
      } finally {
        // Loaded libraries no longer need a file name.
        Files.deleteIfExists(folder.resolve(CORE));
        Files.deleteIfExists(folder.resolve(JNI));
        Files.deleteIfExists(folder);
      }
      return null;
    } catch (IOException error) {
      throw failure(
          "could not be extracted from the jar: " + error,
          "Make room in the folder for temporary files, or set -Djava.io.tmpdir to another, or -D"
              + PROPERTY
              + " to the folder of "
              + CORE
              + " and "
              + JNI,
          error);
    }
  }

  private static void extract(String resources, String name, Path folder) throws IOException {
    try (InputStream content = NativeLibrary.class.getResourceAsStream(resources + name)) {
      if (content == null) {
        throw new IOException("the jar has no " + resources.substring(1) + name);
      }
      Files.copy(content, folder.resolve(name));
    }
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(' ', '-');
    String architecture = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    return system + "-" + (architecture.equals("amd64") ? "x86_64" : architecture);
  }

  private static void requireAbi() {
    try {
      Raw.smd_require_abi(RawConstants.SMD_ABI_LEVEL);
    } catch (RuntimeException error) {
      throw failure(error.getMessage(), "Install a " + CORE + " of this version", error);
    }
  }

  private static UnsatisfiedLinkError failure(String what, String remedy, Throwable cause) {
    UnsatisfiedLinkError error =
        new UnsatisfiedLinkError(
            "the native library of smdebug for "
                + platform()
                + " cannot be loaded: "
                + what
                + ". "
                + remedy
                + ".");
    error.initCause(cause);
    return error;
  }
}
