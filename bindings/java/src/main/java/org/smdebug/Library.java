package org.smdebug;

import org.smdebug.raw.Raw;

/** The C library that is loaded. */
public final class Library {
  private Library() {}

  /**
   * Its version.
   *
   * @return the version, as "1.0.0"
   */
  public static String version() {
    return Raw.smd_version_string();
  }

  /**
   * Whether it was built with a feature.
   *
   * @param feature "local" (trials in folders) or "s3" (trials in buckets)
   * @return true if so; false for any other name
   */
  public static boolean hasFeature(String feature) {
    return Raw.smd_has_feature(feature) != 0;
  }
}
