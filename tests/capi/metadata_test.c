/* What a job records about itself. */
#include "expect.h"

static const char *value_of(const smd_strings *metadata, const char *key) {
  for (size_t i = 0; i + 1 < smd_strings_count(metadata); i += 2) {
    if (strcmp(smd_strings_get(metadata, i), key) == 0) return smd_strings_get(metadata, i + 1);
  }
  return NULL;
}

static void record_step(smd_hook *hook) {
  const float loss = 1;
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = &loss;
  view.dtype = SMD_FLOAT32;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_save(hook, "loss", &view));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_flush(hook, 10000));
}

static void expect_value(smd_trial *trial, const char *worker, const char *key,
                         const char *expected) {
  smd_strings *metadata = NULL;
  EXPECT_OK(smd_trial_metadata(trial, worker, &metadata));
  const char *value = value_of(metadata, key);
  EXPECT((value == NULL) == (expected == NULL));
  if (value != NULL && expected != NULL) EXPECT(strcmp(value, expected) == 0);
  smd_strings_free(metadata);
}

int main(void) {
  const char *path = fresh_folder("metadata");
  smd_hook *hook = open_hook(path);
  smd_trial *trial = NULL;
  char library[64];
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_metadata(hook, "", "x"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_metadata(hook, "rate", "\xff"));
  EXPECT_OK(smd_hook_set_metadata(hook, "rate", "0.1"));
  EXPECT_OK(smd_hook_describe_run(hook));
  record_step(hook);
  trial = open_trial(path);
  expect_value(trial, NULL, "rate", "0.1");
  expect_value(trial, "worker_0", "rate", "0.1");
  expect_value(trial, "worker_9", "rate", NULL);
  snprintf(library, sizeof library, "libsmdebug %s", smd_version_string());
  expect_value(trial, NULL, "run.library", library);

  /* A running job changes a value. */
  EXPECT_OK(smd_hook_set_metadata(hook, "rate", "0.2"));
  record_step(hook);
  expect_value(trial, NULL, "rate", "0.2");

  /* What is set after the last step is written at the end. */
  EXPECT_OK(smd_hook_set_metadata(hook, "note", "diverged"));
  EXPECT_OK(smd_hook_close(hook));
  expect_value(trial, NULL, "note", "diverged");
  smd_trial_free(trial);
  smd_hook_free(hook);
  remove_folder(path);
  return 0;
}
