/* A forked child is told that its handles are its parent's; the parent goes on. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "expect.h"

static atomic_int has_ended;

static int child(smd_hook *hook, smd_trial *trial) {
  const smd_tensor_view view = example_view();
  smd_steps *steps = NULL;
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_begin_step(hook, NULL));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_save(hook, "w", &view));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_flush(hook, 100));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_close(hook));
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  smd_collection *collection = NULL;
  smd_strings *names = NULL;
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_set_mode(hook, SMD_MODE_TRAIN));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_end_step(hook));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_save_custom(hook, "w", &view, NULL));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_collection(hook, "x", &collection));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_collections(hook, &names));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_export_collections(hook));
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_refresh(trial));
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_wait_for_step(trial, 0, SMD_MODE_GLOBAL, -1));
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_collection(trial, "x", &collection));
  EXPECT(smd_hook_wants(hook, "w") == 0 && smd_hook_is_recording(hook) == 0);
  EXPECT(smd_hook_step(hook, SMD_MODE_GLOBAL) == -1);
  EXPECT(smd_hook_count(hook, "steps_written") == -1);
  EXPECT(smd_hook_mode(hook) == SMD_MODE_GLOBAL);
  EXPECT(smd_trial_last_complete_step(trial) == -1);
  smd_trial_cancel(trial);
  smd_trial_free(trial);
  smd_hook_free(hook);
  return 0;
}

/* A child may well record and read by handles of its own.  (The thread sanitizer does
 * not follow threads that a child starts.) */
static int child_of_its_own(void) {
#if defined(__SANITIZE_THREAD__)
  return 0;
#endif
  const char *path = fresh_folder("fork-child");
  smd_hook *hook = open_hook(path);
  smd_steps *steps = NULL;
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_steps_count(steps) == 2);
  smd_steps_free(steps);
  smd_trial_free(trial);
  remove_folder(path);
  return 0;
}

static void *save_for_ever(void *hook) {
  const smd_tensor_view view = example_view();
  while (!has_ended) {
    EXPECT_OK(smd_hook_begin_step(hook, NULL));
    EXPECT_OK(smd_hook_save(hook, "w", &view));
    EXPECT_OK(smd_hook_end_step(hook));
    EXPECT_OK(smd_hook_flush(hook, 20000));
  }
  return NULL;
}

/* Whatever locks another thread held at the moment, no child waits for them. */
static void fork_in_the_middle(void) {
  const char *path = fresh_folder("fork-middle");
  smd_hook *hook = open_hook(path);
  pthread_t saver;
  EXPECT_OK(smd_hook_export_collections(hook));
  smd_trial *trial = open_trial(path);
  EXPECT(pthread_create(&saver, NULL, save_for_ever, hook) == 0);
  for (int i = 0; i < 20; ++i) {
    int status = -1;
    const pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
      alarm(20);
      _exit(child(hook, trial));
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  has_ended = 1;
  EXPECT(pthread_join(saver, NULL) == 0);
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(smd_hook_count(hook, "steps_failed") == 0);
  smd_trial_free(trial);
  smd_hook_free(hook);
  remove_folder(path);
}

int main(void) {
  char path[256];
  snprintf(path, sizeof path, "%s", fresh_folder("fork"));
  smd_hook *hook = open_hook(path);
  smd_trial *trial = NULL;
  smd_steps *steps = NULL;
  int status = -1;
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  trial = open_trial(path);
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) _exit(child(hook, trial) + child_of_its_own());
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
  fork_in_the_middle();
  return 0;
}
