package org.smdebug;

import org.smdebug.raw.Raw;

/** Describes the loaded C library. */
public final class Library {
  private Library() {}

  /**
   * Returns its version.
   *
   * @return the version, such as "1.0.0"
   */
  public static String version() {
    return Raw.smd_version_string();
  }

  /**
   * Returns true if the library was built with a feature.
   *
   * @param feature "local" (trials in folders) or "s3" (trials in buckets)
   * @return true if it was; false for any other name
   */
  public static boolean hasFeature(String feature) {
    return Raw.smd_has_feature(feature) != 0;
  }
}
