package org.smdebug;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.smdebug.raw.Raw;

/**
 * Reports whether recording to a path and reading from it works.
 *
 * @param findings the checks in order; the list ends at the first failure
 */
public record StoreReport(List<Finding> findings) {
  /**
   * The result of one check.
   *
   * @param name "address", "credentials", "list", "clock", "write", "read" or "remove"
   * @param code OK, or the kind of the problem
   * @param message what was found, or what to do; never a secret
   */
  public record Finding(String name, ErrorCode code, String message) {}

  /**
   * Runs the checks that a hook and a trial depend on, in order. Writes, reads and removes one
   * small file. A failed check does not throw.
   *
   * @param path a folder, or s3://bucket/prefix
   * @param options options by name; only those that begin with "s3_" have an effect
   * @return the report
   */
  public static StoreReport check(String path, Map<String, String> options) {
    long raw = Raw.smd_hook_options_new();
    try {
      options.forEach((name, value) -> Raw.smd_hook_options_set(raw, name, value));
      return take(Raw.smd_store_check(path, raw));
    } finally {
      Raw.smd_hook_options_free(raw);
    }
  }

  /**
   * Runs the checks in a folder, as {@link #check(String, Map)} does.
   *
   * @param folder the folder
   * @return the report
   * @throws IllegalArgumentException if the path is not one of the default file system, or a bucket
   */
  public static StoreReport check(Path folder) {
    return check(Folders.textOf(folder), Map.of());
  }

  /**
   * Returns true if every check passed.
   *
   * @return true if they did
   */
  public boolean isGood() {
    return findings.stream().allMatch(finding -> finding.code() == ErrorCode.OK);
  }

  private static StoreReport take(long report) {
    try {
      List<Finding> findings = new ArrayList<>();
      for (long i = 0; i < Raw.smd_store_report_count(report); ++i) {
        findings.add(
            new Finding(
                Raw.smd_store_report_name(report, i),
                ErrorCode.of(Raw.smd_store_report_code(report, i)),
                Raw.smd_store_report_message(report, i)));
      }
      return new StoreReport(List.copyOf(findings));
    } finally {
      Raw.smd_store_report_free(report);
    }
  }
}
