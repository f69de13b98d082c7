/* Recording a profile: events, samples, hostile input, and a fork. */
#include <sys/wait.h>

#include "expect.h"

static smd_profiler *open_sampling(const char *path) {
  smd_profiler_options *options = NULL;
  smd_profiler *profiler = NULL;
  EXPECT_OK(smd_profiler_options_new(&options));
  EXPECT_OK(smd_profiler_options_set(options, "out_dir", path));
  EXPECT_OK(smd_profiler_options_set(options, "node", "0_algo-1"));
  EXPECT_OK(smd_profiler_options_set(options, "sample_milliseconds", "100"));
  EXPECT_OK(smd_profiler_new(options, &profiler));
  smd_profiler_options_free(options);
  return profiler;
}

static void check_options(void) {
  smd_profiler_options *options = NULL;
  smd_profiler *profiler = NULL;
  smd_text *value = NULL;
  EXPECT_OK(smd_profiler_options_new(&options));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_new(options, &profiler));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_profiler_options_set(options, "node", "../../etc"));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_profiler_options_set(options, "sample_milliseconds", "1"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_options_set(options, "out", "x"));
  EXPECT_OK(smd_profiler_options_get(options, "rotate_bytes", &value));
  EXPECT(strcmp(smd_text_data(value), "10485760") == 0);
  smd_text_free(value);
  smd_profiler_options_free(options);
}

static void record(smd_profiler *profiler) {
  const int64_t begin = smd_profiler_now(profiler);
  EXPECT(begin > 0);
  EXPECT_OK(smd_profiler_event(profiler, "Forward", "Forward", 0, begin, 100, "{\"device\": 0}"));
  EXPECT_OK(smd_profiler_begin(profiler, "Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN", 0, NULL));
  EXPECT_OK(smd_profiler_instant(profiler, "marker", "Marks", -1, ""));
  EXPECT_OK(smd_profiler_end(profiler, "Step:ModeKeys.TRAIN"));
  EXPECT_OK(smd_profiler_end(profiler, "Step:ModeKeys.TRAIN")); /* counted as dropped */
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_event(profiler, "e", "", 0, begin, 1, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_event(profiler, "\xff", "p", 0, begin, 1, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_event(profiler, "e", "p", 0, -1, 1, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_profiler_event(profiler, "e", "p", 0, begin, 1, "no"));
}

static void fork_child(smd_profiler *profiler) {
  int status = -1;
  const pid_t pid = MAY_FORK_BESIDE_THREADS ? fork() : -1;
  if (pid < 0) return;
  if (pid == 0) {
    alarm(20);
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_event(profiler, "e", "p", 0, 1, 1, NULL));
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_begin(profiler, "e", "p", 0, NULL));
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_end(profiler, "p"));
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_instant(profiler, "e", "p", 0, NULL));
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_flush(profiler, 1000));
    EXPECT_CODE(SMD_AFTER_FORK, smd_profiler_close(profiler));
    EXPECT(smd_profiler_now(profiler) == 0);
    EXPECT(smd_profiler_count(profiler, "events_written") == -1);
    smd_profiler_free(profiler);
    _exit(0);
  }
  EXPECT(waitpid(pid, &status, 0) == pid);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  const char *path = fresh_folder("profiler");
  char mark[300];
  check_options();
  smd_profiler *profiler = open_sampling(path);
  record(profiler);
  fork_child(profiler);
  EXPECT_OK(smd_profiler_flush(profiler, 20000));
  EXPECT(smd_profiler_count(profiler, "events_written") == 3);
  EXPECT(smd_profiler_count(profiler, "events_dropped") == 1);
  EXPECT(smd_profiler_count(profiler, "files_written") == 1);
  EXPECT(smd_profiler_count(profiler, "no such count") == -1);
  EXPECT(smd_profiler_count(profiler, NULL) == -1);
  for (int i = 0; i < 200 && smd_profiler_count(profiler, "samples") < 2; ++i) usleep(50000);
  EXPECT(smd_profiler_count(profiler, "samples") >= 2);
  EXPECT_OK(smd_profiler_close(profiler));
  EXPECT_OK(smd_profiler_close(profiler));
  EXPECT_CODE(SMD_WRONG_STATE, smd_profiler_end(profiler, "p"));
  EXPECT_CODE(SMD_WRONG_STATE, smd_profiler_flush(profiler, 1000));
  smd_profiler_free(profiler);
  snprintf(mark, sizeof mark, "%s/system/training_job_end.ts", path);
  EXPECT(access(mark, F_OK) == 0);
  remove_folder(path);
  return 0;
}
