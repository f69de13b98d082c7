/* A discarded step leaves nothing behind, and the steps after it keep their numbers. */
#include "expect.h"

static void expect_steps(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_integers *steps = NULL;
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_integers_count(steps) == 2);
  EXPECT(smd_integers_get(steps, 0) == 0 && smd_integers_get(steps, 1) == 2);
  smd_integers_free(steps);
  smd_trial_free(trial);
}

int main(void) {
  const char *path = fresh_folder("discard");
  smd_hook *hook = open_hook(path);
  const smd_tensor_view view = example_view();
  int64_t step = -1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_discard_step(NULL));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_discard_step(hook));
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_begin_step(hook, &step));
  EXPECT(step == 1);
  EXPECT_OK(smd_hook_save(hook, "w", &view));
  EXPECT_OK(smd_hook_discard_step(hook));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_discard_step(hook));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_end_step(hook));
  EXPECT(smd_hook_last_step(hook, SMD_MODE_GLOBAL) == 1);
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(smd_hook_count(hook, "steps_written") == 2);
  EXPECT(smd_hook_count(hook, "steps_dropped") == 0 && smd_hook_count(hook, "steps_failed") == 0);
  expect_steps(path);
  smd_hook_free(hook);
  remove_folder(path);
  return 0;
}
