package org.smdebug;

import java.nio.file.FileSystems;
import java.nio.file.Path;

/** Turns folders into the texts that the C library takes. */
final class Folders {
  private Folders() {}

  /** Returns the path as text; refuses one that would name another place as text. */
  static String textOf(Path folder) {
    if (folder.getFileSystem() != FileSystems.getDefault()) {
      throw new IllegalArgumentException(
          "'" + folder + "' is not a path of the default file system; copy it to a folder");
    }
    String text = folder.toString();
    if (text.startsWith("s3:/")) {
      throw new IllegalArgumentException(
          "'" + text + "': a Path drops a slash of s3://; pass a bucket as a String");
    }
    return text.isEmpty() ? "." : text;
  }
}
