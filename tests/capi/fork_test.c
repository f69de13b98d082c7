/* A forked child has no part in its parent's handles: each call fails with AFTER_FORK or answers
 * as for NULL, whatever locks the parent held.  The parent notices nothing. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "calls.h"

/* Handles that are plain data, in the child a copy. */
typedef struct {
  smd_error *error;
  smd_hook_options *options;
  smd_hook_options *options_with_collection;
  smd_integers *integers;
  smd_reduction_config *reductions;
  smd_save_config *save_config;
  smd_store_report *report;
  smd_strings *strings;
  smd_text *text;
  smd_trial_options *trial_options;
  smd_value *value;
  smd_values *values;
} data_handles;

static data_handles make_data(const process_handles *own) {
  data_handles made = {0};
  made.error = smd_error_new(SMD_IO, "a message");
  EXPECT_OK(smd_hook_options_new(&made.options));
  EXPECT_OK(smd_hook_options_new(&made.options_with_collection));
  EXPECT_OK(smd_hook_options_add_collection(made.options_with_collection, own->smd_collection));
  EXPECT_OK(smd_trial_steps(own->smd_trial, SMD_MODE_GLOBAL, 0, &made.integers));
  EXPECT_OK(smd_reduction_config_new(&made.reductions));
  EXPECT_OK(smd_save_config_new(&made.save_config));
  EXPECT_OK(smd_store_check("gs://bucket/run", NULL, &made.report));
  EXPECT_OK(smd_strings_new(&made.strings));
  EXPECT_OK(smd_collection_to_json(own->smd_collection, &made.text));
  EXPECT_OK(smd_trial_options_new(&made.trial_options));
  EXPECT_OK(smd_tensor_value(own->smd_tensor, 0, SMD_MODE_GLOBAL, NULL, &made.value));
  EXPECT_OK(smd_tensor_values(own->smd_tensor, 0, 9, SMD_MODE_GLOBAL, NULL, &made.values));
  return made;
}

static void use_data(const data_handles *data) {
  smd_text *json = NULL;
  smd_value *mean = NULL;
  smd_value *second = NULL;
  double number = 0;
  EXPECT(smd_error_code(data->error) == SMD_IO);
  EXPECT(strcmp(smd_error_message(data->error), "a message") == 0);
  EXPECT_OK(smd_hook_options_set(data->options, "out_dir", "somewhere"));
  EXPECT_OK(smd_hook_options_set_save_config(data->options, data->save_config));
  EXPECT(smd_integers_count(data->integers) == 2 && smd_integers_get(data->integers, 1) == 1);
  EXPECT_OK(smd_reduction_config_add(data->reductions, "mean"));
  EXPECT_OK(smd_save_config_set(data->save_config, SMD_MODE_ANY, 3, 0, -1, NULL, 0));
  EXPECT(smd_save_config_saves(data->save_config, 3, SMD_MODE_TRAIN) == 1);
  EXPECT(smd_store_report_count(data->report) == 1);
  EXPECT_OK(smd_strings_add(data->strings, "one"));
  EXPECT(smd_text_size(data->text) > 0);
  EXPECT_OK(smd_trial_options_set(data->trial_options, "wait_seconds", "0"));
  EXPECT_OK(smd_value_reduce(data->value, "mean", 0, &mean));
  EXPECT_OK(smd_value_to_double(mean, &number));
  EXPECT(number == 3.5);
  EXPECT(smd_values_count(data->values) == 2 && smd_values_step(data->values, 1) == 1);
  EXPECT_OK(smd_values_get(data->values, 1, &second));
  smd_value_free(second);
  EXPECT_OK(smd_save_config_to_json(data->save_config, &json));
  smd_text_free(json);
  smd_value_free(mean);
}

static void free_data(data_handles *data) {
  smd_error_free(data->error);
  smd_hook_options_free(data->options);
  smd_hook_options_free(data->options_with_collection);
  smd_integers_free(data->integers);
  smd_reduction_config_free(data->reductions);
  smd_save_config_free(data->save_config);
  smd_store_report_free(data->report);
  smd_strings_free(data->strings);
  smd_text_free(data->text);
  smd_trial_options_free(data->trial_options);
  smd_value_free(data->value);
  smd_values_free(data->values);
}

/* Handles of the child refuse a collection of the parent. */
static void refuse_collection(const process_handles *parent, const data_handles *data) {
  const smd_collection *const list[] = {parent->smd_collection};
  smd_hook *hook = NULL;
  smd_text *text = NULL;
  smd_collection *shared = NULL;
  EXPECT_CODE(SMD_AFTER_FORK,
              smd_hook_options_add_collection(data->options, parent->smd_collection));
  EXPECT_CODE(SMD_AFTER_FORK, smd_collections_to_json(list, 1, 1, &text));
  EXPECT_OK(smd_hook_options_collection(data->options_with_collection, "mine", &shared));
  EXPECT_CODE(SMD_AFTER_FORK, smd_collection_add_tensor(shared, "w"));
  EXPECT_OK(smd_hook_options_set(data->options_with_collection, "out_dir", "never-written"));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_new(data->options_with_collection, &hook));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_options_load(data->options_with_collection, "none.json"));
}

/* A child may record and read with handles of its own.  (The thread sanitizer does not follow
 * threads that a child starts.) */
static void record_and_read(const process_handles *parent) {
#if defined(__SANITIZE_THREAD__)
  (void)parent;
#else
  const char *path = fresh_folder("fork-child");
  smd_hook *hook = open_hook(path);
  smd_integers *steps = NULL;
  smd_strings *names = NULL;
  record_steps(hook, 2);
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_add_collection(hook, parent->smd_collection));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_integers_count(steps) == 2);
  EXPECT_CODE(SMD_AFTER_FORK, smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL,
                                                     parent->smd_collection, &names));
  smd_integers_free(steps);
  smd_trial_free(trial);
  remove_folder(path);
#endif
}

/* Forks a child that uses everything; a signal ends a child that hangs. */
static void fork_once(const process_handles *parent, data_handles *data, int is_thorough) {
  int status = -1;
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    alarm(20);
    use_data(data);
    refuse_collection(parent, data);
    if (is_thorough) record_and_read(parent);
    call_after_fork(parent);
    free_data(data);
    _exit(0);
  }
  EXPECT(waitpid(pid, &status, 0) == pid);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- threads of the parent that hold locks and wait ---- */

static atomic_int has_ended;

static void *save_steps(void *hook) {
  while (!has_ended) {
    record_steps(hook, 1);
    EXPECT_OK(smd_hook_flush(hook, 20000));
  }
  return NULL;
}

static void *change_collection(void *collection) {
  char name[20];
  for (int i = 0; !has_ended; ++i) {
    snprintf(name, sizeof name, "t%d", i % 100);
    EXPECT_OK(smd_collection_add_tensor(collection, name));
    EXPECT(smd_collection_has(collection, name) == 1);
    EXPECT_OK(smd_collection_remove_tensor(collection, name));
  }
  return NULL;
}

static void *read_trial(void *trial) {
  while (!has_ended) {
    smd_tensor *tensor = NULL;
    smd_value *value = NULL;
    smd_values *values = NULL;
    EXPECT_OK(smd_trial_refresh(trial));
    EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
    EXPECT_OK(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, &value));
    EXPECT_OK(smd_tensor_values(tensor, 0, INT64_MAX, SMD_MODE_GLOBAL, NULL, &values));
    smd_values_free(values);
    smd_value_free(value);
    smd_tensor_free(tensor);
  }
  return NULL;
}

static void *wait_for_step(void *trial) {
  EXPECT_CODE(SMD_CANCELLED, smd_trial_wait_for_step(trial, 1 << 30, SMD_MODE_GLOBAL, -1));
  return NULL;
}

static void check_parent(process_handles *own) {
  const smd_tensor_view view = example_view();
  int32_t found = 0;
  EXPECT_OK(smd_hook_close(own->smd_hook));
  EXPECT(smd_hook_count(own->smd_hook, "steps_failed") == 0);
  EXPECT(smd_collection_has(own->smd_collection, "w") == 1);
  EXPECT_OK(smd_step_file_add_tensor(own->smd_step_file, "v", &view, -1, SMD_MODE_GLOBAL, 0));
  EXPECT_OK(smd_step_file_close(own->smd_step_file));
  EXPECT(access(smd_step_file_path(own->smd_step_file), F_OK) == 0);
  EXPECT_OK(smd_event_file_next(own->smd_event_file, &found));
  EXPECT(found == 1);
  smd_event_file_free(own->smd_event_file);
  smd_step_file_free(own->smd_step_file);
  smd_tensor_free(own->smd_tensor);
  smd_trial_free(own->smd_trial);
  smd_collection_free(own->smd_collection);
  smd_rule_set_free(own->smd_rule_set);
  smd_bucket_free(own->smd_bucket);
  EXPECT_OK(smd_profiler_close(own->smd_profiler));
  EXPECT(smd_profiler_count(own->smd_profiler, "events_written") == 1);
  smd_profiler_free(own->smd_profiler);
  smd_hook_free(own->smd_hook);
}

static process_handles make_handles(const char *path, const char *other) {
  const smd_tensor_view view = example_view();
  process_handles made = {0};
  smd_step_file *file = NULL;
  made.smd_hook = open_hook(path);
  made.smd_profiler = open_profiler(path);
  EXPECT_OK(smd_profiler_begin(made.smd_profiler, "e", "p", 0, NULL));
  record_steps(made.smd_hook, 2);
  EXPECT_OK(smd_hook_flush(made.smd_hook, 20000));
  EXPECT_OK(smd_collection_new("mine", &made.smd_collection));
  EXPECT_OK(smd_collection_add_tensor(made.smd_collection, "w"));
  made.smd_trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(made.smd_trial, "w", &made.smd_tensor));
  EXPECT_OK(smd_rule_set_new("aws", &made.smd_rule_set));
  EXPECT_OK(smd_bucket_open("bucket", NULL, &made.smd_bucket));
  EXPECT_OK(smd_step_file_open(other, 0, "worker_0", &file));
  EXPECT_OK(smd_step_file_add_tensor(file, "w", &view, -1, SMD_MODE_GLOBAL, 0));
  EXPECT_OK(smd_step_file_close(file));
  EXPECT_OK(smd_event_file_open(smd_step_file_path(file), &made.smd_event_file));
  smd_step_file_free(file);
  EXPECT_OK(smd_step_file_open(other, 1, "worker_0", &made.smd_step_file));
  EXPECT_OK(smd_step_file_add_tensor(made.smd_step_file, "w", &view, -1, SMD_MODE_GLOBAL, 0));
  return made;
}

static void fork_beside_threads(const process_handles *own, data_handles *data, const char *path) {
  pthread_t threads[4];
  EXPECT(pthread_create(&threads[0], NULL, save_steps, own->smd_hook) == 0);
  EXPECT(pthread_create(&threads[1], NULL, change_collection, own->smd_collection) == 0);
  EXPECT(pthread_create(&threads[2], NULL, read_trial, own->smd_trial) == 0);
  smd_trial *waited = open_trial(path);
  EXPECT(pthread_create(&threads[3], NULL, wait_for_step, waited) == 0);
  for (int i = 0; i < 30; ++i) {
    process_handles with_waiter = *own;
    if (i % 2 == 1) with_waiter.smd_trial = waited;
    fork_once(&with_waiter, data, 0);
  }
  has_ended = 1;
  smd_trial_cancel(waited);
  for (int i = 0; i < 4; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  smd_trial_free(waited);
}

int main(void) {
  char path[256];
  char other[256];
  snprintf(path, sizeof path, "%s", fresh_folder("fork"));
  snprintf(other, sizeof other, "%s", fresh_folder("fork-files"));
  process_handles own = make_handles(path, other);
  data_handles data = make_data(&own);
  fork_once(&own, &data, 1);
  if (MAY_FORK_BESIDE_THREADS) fork_beside_threads(&own, &data, path);
  free_data(&data);
  check_parent(&own);
  remove_folder(path);
  remove_folder(other);
  return 0;
}
