package org.smdebug;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.smdebug.raw.Raw;

/**
 * Whether recording to a place and reading from it works, and why not.
 *
 * @param findings what was tried, in order; the first failure is the last
 */
public record StoreReport(List<Finding> findings) {
  /**
   * One thing that was tried.
   *
   * @param name "address", "credentials", "list", "clock", "write", "read" or "remove"
   * @param code OK, or what is wrong
   * @param message what was found, or what to do; never a secret
   */
  public record Finding(String name, ErrorCode code, String message) {}

  /**
   * Tries what a hook and a trial need; writes, reads and removes one small file. A bad finding is
   * no error.
   *
   * @param path a folder, or s3://bucket/prefix
   * @param options those that begin with "s3_" count
   * @return what was found
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
   * Whether everything works.
   *
   * @return true if so
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
