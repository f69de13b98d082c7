/* Makes each call of a job fail in turn, each in a child process:
 *
 *   every_call record|read FOLDER memory|calls ERROR once|on [FIRST STRIDE NAME=VALUE...]
 *
 * until a job ends without reaching the call that should fail.  After each failure, the job
 * runs again with nothing failing.  The output has one line for each bug; its last line is
 * the number of calls. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "trial.h"

enum { STEPS = 2, RUN = 1, SECONDS = 30, MOST_WORDS = 500, AGAIN = 8 };
enum { DONE = 0, FAULTY = 1, NOT_REACHED = 2 };

struct job {
  const char *name; /* the folder's or bucket's name */
  enum fault_group group;
  int error;
  int on;
  int is_reading;
  char *const *settings;
};

/* Reports a bug in a job: no allocation, one write. */
#define SAY(...)                                                          \
  do {                                                                    \
    char words_[MOST_WORDS];                                              \
    const int size_ = snprintf(words_, sizeof words_, __VA_ARGS__);       \
    const size_t said_ = size_ < MOST_WORDS ? (size_t)size_ : MOST_WORDS; \
    if (write(STDOUT_FILENO, words_, said_) < 0) _exit(FAULTY);           \
  } while (0)

/* ---- errors that a job may return ------------------------------------------ */

/* Returns 1 if the failing call explains the error. */
static int is_right(const struct job *job, const smd_error *error) {
  const smd_code code = smd_error_code(error);
  if (error == NULL) return 1;
  if (smd_error_message(error)[0] == '\0') return 0;
  /* Errors of threads do not name the missing resource. */
  if (job->group == FAULT_MEMORY && code == SMD_IO) {
    return strstr(smd_error_message(error), "starting a thread") != NULL;
  }
  /* libcurl 7.88 then sends a request without its query, so the signature does not match. */
  if (job->group == FAULT_MEMORY && code == SMD_CREDENTIALS_REFUSED) {
    return strstr(smd_error_message(error), "SignatureDoesNotMatch") != NULL;
  }
  if (job->group == FAULT_MEMORY) return code == SMD_OUT_OF_MEMORY;
  switch (code) {
    case SMD_IO:
    case SMD_NETWORK:
    case SMD_TIMEOUT:
    case SMD_TLS: return job->error != FAULT_SHORT;
    case SMD_NO_SPACE: return job->error == ENOSPC;
    case SMD_OUT_OF_MEMORY: return job->error != FAULT_SHORT; /* memory maps and threads */
    default: return 0;
  }
}

/* Counts the error if the call does not explain it, and frees it. */
static int count_unexplained(const struct job *job, const char *what, smd_error *error) {
  const int is_wrong = !is_right(job, error);
  if (is_wrong) {
    SAY("  %s: %s: %s\n", what, smd_code_name(smd_error_code(error)), smd_error_message(error));
  }
  smd_error_free(error);
  return is_wrong;
}

/* ---- recording ------------------------------------------------------------- */

struct recorded {
  int64_t durable[STEPS];
  int count;
  int wrongs;
};

static void note_flushed(struct recorded *recorded, smd_error *error, int64_t step) {
  if (error == NULL && step >= 0) recorded->durable[recorded->count++] = step;
}

static void record(const struct job *job, const char *folder, struct recorded *recorded) {
  smd_hook *hook = NULL;
  smd_error *error = make_hook(folder, job->settings, &hook);
  if (error != NULL) {
    recorded->wrongs += count_unexplained(job, "hook", error);
    return;
  }
  for (int i = 0; i < STEPS; ++i) {
    int64_t step = -1;
    smd_error *saved = record_step(hook, RUN, &step);
    const int is_saved = saved == NULL;
    recorded->wrongs += count_unexplained(job, "step", saved);
    error = smd_hook_flush(hook, 20000);
    if (is_saved) note_flushed(recorded, error, step);
    recorded->wrongs += count_unexplained(job, "flush", error);
  }
  recorded->wrongs += count_unexplained(job, "close", smd_hook_close(hook));
  smd_hook_free(hook);
}

/* Returns how much of the trial is wrong, with nothing failing. */
static int look(const struct job *job, const char *folder, const struct recorded *recorded) {
  smd_trial *trial = NULL;
  smd_integers *steps = NULL;
  int wrongs = 0;
  int found = 0;
  smd_error *error = make_trial(folder, job->settings, &trial);
  if (error == NULL) error = smd_trial_steps(trial, SMD_MODE_GLOBAL, 1, &steps);
  if (error != NULL && recorded->count > 0) {
    wrongs += 1;
    SAY("  looking: %s\n", smd_error_message(error));
  }
  smd_error_free(error);
  for (size_t i = 0; i < smd_integers_count(steps); ++i) {
    const int64_t step = smd_integers_data(steps)[i];
    int32_t run = TORN;
    error = read_step(trial, step, &run);
    if (error != NULL || run != RUN) {
      wrongs += 1;
      SAY("  step %d: run %d %s\n", (int)step, (int)run, smd_error_message(error));
    }
    smd_error_free(error);
    for (int j = 0; j < recorded->count; ++j) found += recorded->durable[j] == step;
  }
  if (found < recorded->count) SAY("  %d durable steps are lost\n", recorded->count - found);
  smd_integers_free(steps);
  smd_trial_free(trial);
  return wrongs + (found < recorded->count);
}

/* ---- reading --------------------------------------------------------------- */

static smd_error *read_all(smd_trial *trial, int *torn) {
  smd_integers *steps = NULL;
  smd_strings *names = NULL;
  smd_error *error = smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps);
  if (error == NULL) {
    error = smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL, NULL, &names);
  }
  for (size_t i = 0; i < smd_integers_count(steps) && error == NULL; ++i) {
    int32_t run = TORN;
    error = read_step(trial, smd_integers_data(steps)[i], &run);
    *torn += error == NULL && run != RUN;
  }
  smd_strings_free(names);
  smd_integers_free(steps);
  return error;
}

static int read_twice(const struct job *job, const char *folder) {
  smd_trial *trial = NULL;
  int torn = 0;
  int wrongs = count_unexplained(job, "trial", make_trial(folder, job->settings, &trial));
  if (trial != NULL) {
    wrongs += count_unexplained(job, "first reading", read_all(trial, &torn));
    wrongs += count_unexplained(job, "second reading", read_all(trial, &torn));
  }
  if (torn > 0) SAY("  wrong values\n");
  smd_trial_free(trial);
  return wrongs + torn;
}

static int discard_file(const char *path, const struct stat *facts, int kind, struct FTW *place) {
  (void)facts;
  (void)kind;
  (void)place;
  return remove(path);
}

/* ---- one job --------------------------------------------------------------- */

static int open_files(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return -1;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static int perform(const struct job *job, const char *folder, long number, long *calls) {
  struct recorded recorded = {{0}, 0, 0};
  int wrongs = 0;
  alarm(SECONDS);
  fault_arm(number > 0 ? job->group : FAULT_NONE, number, job->error, job->on);
  if (job->is_reading) {
    wrongs = read_twice(job, folder);
  } else {
    record(job, folder, &recorded);
  }
  *calls = fault_disarm();
  if (job->is_reading) return wrongs;
  wrongs += recorded.wrongs + look(job, folder, &recorded);
  nftw(folder, discard_file, 10, FTW_DEPTH | FTW_PHYS);
  return wrongs;
}

/* Returns a new place for every job that records. */
static const char *place(const struct job *job, long number, char path[256]) {
  static int places;
  if (job->is_reading) return job->name;
  snprintf(path, 256, "%s/%ld-%d", job->name, number, places++);
  return path;
}

/* Returns the allocations left after a job with a failing call and one without. */
static long left_after(const struct job *job, long number, int *wrongs, int *reached) {
  char path[256];
  long calls = 0;
  *wrongs += perform(job, place(job, number, path), number, &calls);
  *reached = number <= calls;
  *wrongs += perform(job, place(job, number, path), 0, &calls);
  return fault_allocations();
}

/* Returns 1 if each further turn leaves more.  Memory that threads cache for the next one varies;
 * a leak grows. */
static int leaks(const struct job *job, long number, long once, int *wrongs) {
  int reached = 0;
  const long twice = left_after(job, number, wrongs, &reached);
  if (twice <= once) return 0;
  for (int turn = 1; turn <= AGAIN; ++turn) {
    if (left_after(job, number, wrongs, &reached) < twice + turn) return 0;
  }
  return 1;
}

static int run_child(const struct job *job, long number) {
  int wrongs = 0;
  int reached = 0;
  const int files = open_files();
  const long once = left_after(job, number, &wrongs, &reached);
  if (!reached) return wrongs > 0 ? FAULTY : NOT_REACHED;
  if (leaks(job, number, once, &wrongs)) {
    SAY("  memory leaks\n");
    ++wrongs;
  }
  if (open_files() > files) {
    SAY("  files stay open\n");
    ++wrongs;
  }
  return wrongs > 0 ? FAULTY : DONE;
}

static int run(const struct job *job, long number) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) _exit(run_child(job, number));
  if (child < 0 || waitpid(child, &status, 0) != child) abort();
  if (WIFSIGNALED(status)) {
    SAY("  ended by signal %d%s\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": hangs" : "");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAULTY;
}

int main(int argc, char **argv) {
  if (argc < 8) return 2;
  struct job job = {argv[2], FAULT_CALLS, (int)strtol(argv[4], NULL, 10), 0, 0, argv + 8};
  if (strcmp(argv[3], "memory") == 0) job.group = FAULT_MEMORY;
  job.on = strcmp(argv[5], "on") == 0;
  job.is_reading = strcmp(argv[1], "read") == 0;
  long number = strtol(argv[6], NULL, 10);
  const long stride = strtol(argv[7], NULL, 10);
  int result = DONE;
  int jobs = 0;
  long calls = 0;
  char path[256];
  /* OpenSSL initializes once per process; a failure then would last forever. */
  if (strncmp(job.name, "s3:", 3) == 0) perform(&job, place(&job, 0, path), 0, &calls);
  for (; result != NOT_REACHED; number += stride, ++jobs) {
    result = run(&job, number);
    if (result == FAULTY) SAY("FAULT at call %ld\n", number);
  }
  SAY("%ld calls, %d jobs\n", number - stride - 1, jobs);
  return 0;
}
