/* Buckets by their keys: what is refused before a request is sent, and a service that
 * nobody runs.  tests/interop/test_dropin_names.py asks a real one. */
#include "smdebug/sys/bucket.h"

#include <sys/wait.h>

#include "expect.h"

static smd_hook_options *unreachable(void) {
  smd_hook_options *options = NULL;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "s3_endpoint", "http://127.0.0.1:1"));
  EXPECT_OK(smd_hook_options_set(options, "s3_access_key", "AKID"));
  EXPECT_OK(smd_hook_options_set(options, "s3_secret_key", "the-secret"));
  EXPECT_OK(smd_hook_options_set(options, "s3_region", "us-east-1"));
  EXPECT_OK(smd_hook_options_set(options, "s3_max_attempts", "1"));
  return options;
}

static void names(void) {
  static const char *const wrong[] = {"", "No_Bucket", "bucket/prefix", "s3://bucket"};
  smd_bucket *bucket = NULL;
  size_t i;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_bucket_open(wrong[i], NULL, &bucket));
    EXPECT(bucket == NULL);
  }
}

static void requests(void) {
  smd_hook_options *options = unreachable();
  smd_bucket *bucket = NULL;
  smd_strings *keys = NULL;
  smd_text *text = NULL;
  EXPECT_OK(smd_bucket_open("bucket", options, &bucket));
  smd_hook_options_free(options);
  EXPECT_CODE(SMD_NETWORK, smd_bucket_list(bucket, NULL, NULL, NULL, &keys));
  EXPECT_CODE(SMD_NETWORK, smd_bucket_read(bucket, "key", 0, -1, &text));
  EXPECT_CODE(SMD_NETWORK, smd_bucket_write(bucket, "key", "x", 1));
  EXPECT_CODE(SMD_NETWORK, smd_bucket_write(bucket, "key", NULL, 0));
  EXPECT_CODE(SMD_NETWORK, smd_bucket_remove(bucket, "key"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_bucket_read(bucket, "key", -1, 1, &text));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_bucket_read(bucket, "key", 0, -2, &text));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_bucket_read(bucket, "", 0, 1, &text));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_bucket_write(bucket, "key", NULL, 1));
  EXPECT(keys == NULL && text == NULL);
  smd_bucket_free(bucket);
}

static void after_fork(void) {
  smd_hook_options *options = unreachable();
  smd_bucket *bucket = NULL;
  smd_strings *keys = NULL;
  smd_text *text = NULL;
  int status = -1;
  pid_t child;
  EXPECT_OK(smd_bucket_open("bucket", options, &bucket));
  smd_hook_options_free(options);
  child = fork();
  if (child == 0) {
    EXPECT_CODE(SMD_AFTER_FORK, smd_bucket_list(bucket, NULL, NULL, NULL, &keys));
    EXPECT_CODE(SMD_AFTER_FORK, smd_bucket_read(bucket, "key", 0, -1, &text));
    EXPECT_CODE(SMD_AFTER_FORK, smd_bucket_read(bucket, "key", 1, -1, &text));
    EXPECT_CODE(SMD_AFTER_FORK, smd_bucket_write(bucket, "key", "x", 1));
    EXPECT_CODE(SMD_AFTER_FORK, smd_bucket_remove(bucket, "key"));
    smd_bucket_free(bucket);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT_CODE(SMD_NETWORK, smd_bucket_remove(bucket, "key"));
  smd_bucket_free(bucket);
}

int main(void) {
  names();
  requests();
  after_fork();
  return 0;
}
