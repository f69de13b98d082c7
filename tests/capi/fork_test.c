/* A forked child is told that its handles are its parent's; the parent goes on. */
#include <sys/wait.h>

#include "expect.h"

static int child(smd_hook *hook, smd_trial *trial) {
  const smd_tensor_view view = example_view();
  smd_steps *steps = NULL;
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_begin_step(hook, NULL));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_save(hook, "w", &view));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_flush(hook, 100));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_close(hook));
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_hook_wants(hook, "w") == 0);
  smd_trial_cancel(trial);
  smd_trial_free(trial);
  smd_hook_free(hook);
  return 0;
}

int main(void) {
  const char *path = fresh_folder("fork");
  smd_hook *hook = open_hook(path);
  smd_trial *trial = NULL;
  smd_steps *steps = NULL;
  int status = -1;
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  trial = open_trial(path);
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) _exit(child(hook, trial));
  EXPECT(waitpid(pid, &status, 0) == pid);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  record_steps(hook, 3);
  EXPECT_OK(smd_hook_close(hook));
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_steps_count(steps) == 5);
  smd_steps_free(steps);
  smd_trial_free(trial);
  smd_hook_free(hook);
  remove_folder(path);
  return 0;
}
