/* Where trials lie: what the doctor says of a folder and of buckets that are none. */
#include "expect.h"

static smd_code last_code(const char *path) {
  smd_store_report *report = NULL;
  smd_code code = SMD_INTERNAL;
  EXPECT_OK(smd_store_check(path, NULL, &report));
  if (smd_store_report_count(report) > 0) {
    code = smd_store_report_code(report, smd_store_report_count(report) - 1);
  }
  smd_store_report_free(report);
  return code;
}

static void folder(void) {
  const char *path = fresh_folder("store");
  const char *const names[] = {"address", "write", "read", "remove"};
  smd_store_report *report = NULL;
  size_t i;
  EXPECT_OK(smd_store_check(path, NULL, &report));
  EXPECT(smd_store_report_count(report) == 4);
  for (i = 0; i < 4; ++i) {
    EXPECT(strcmp(smd_store_report_name(report, i), names[i]) == 0);
    EXPECT(smd_store_report_code(report, i) == SMD_OK);
  }
  EXPECT(strstr(smd_store_report_message(report, 0), path) != NULL);
  EXPECT(smd_store_report_code(report, 4) == SMD_INVALID_ARGUMENT);
  smd_store_report_free(report);
  EXPECT(access(path, F_OK) != 0); /* nothing was created */
}

static void options(void) {
  smd_hook_options *given = NULL;
  smd_store_report *report = NULL;
  EXPECT_OK(smd_hook_options_new(&given));
  EXPECT_OK(smd_hook_options_set(given, "s3_endpoint", "http://127.0.0.1:1"));
  EXPECT_OK(smd_hook_options_set(given, "s3_access_key", "AKID"));
  EXPECT_OK(smd_hook_options_set(given, "s3_secret_key", "the-secret"));
  EXPECT_OK(smd_hook_options_set(given, "s3_max_attempts", "1"));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_hook_options_set(given, "s3_max_attempts", "many"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_options_set(given, "s3_secret", "the-secret"));
  EXPECT_OK(smd_store_check("s3://bucket/run", given, &report));
  EXPECT(smd_store_report_count(report) == 3);
  EXPECT(smd_store_report_code(report, 2) == SMD_NETWORK);
  EXPECT(strstr(smd_store_report_message(report, 2), "127.0.0.1:1") != NULL);
  EXPECT(strstr(smd_store_report_message(report, 2), "the-secret") == NULL);
  smd_store_report_free(report);
  smd_hook_options_free(given);
}

int main(void) {
  folder();
  options();
  EXPECT(last_code("s3://No_Bucket/run") == SMD_INVALID_ARGUMENT);
  EXPECT(last_code("gs://bucket/run") == SMD_UNSUPPORTED);
  EXPECT(last_code("/proc/nowhere/run") != SMD_OK);
  return 0;
}
