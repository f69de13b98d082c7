/* Release functions, DLPack deleters and log functions may ask their hook anything, wherever they
 * are called from: no lock of the hook is held then.  A second thread asks too, with a mutex held
 * that the log function locks.  A deadlock ends the test by its alarm. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "expect.h"

enum { SMALL = 64, LARGE = 1 << 18, STEPS = 12, ALARM_SECONDS = 50 };

static float numbers[LARGE];
static _Atomic(smd_hook *) asked;
static atomic_int expected_releases;
static atomic_int releases;
static atomic_int lines;
static atomic_int is_over;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

static void ask(void) {
  smd_hook *hook = asked;
  if (hook == NULL) return;
  EXPECT(smd_hook_last_step(hook, SMD_MODE_GLOBAL) >= -1);
  EXPECT_OK(smd_hook_set_mode(hook, smd_hook_mode(hook)));
  EXPECT(smd_hook_count(hook, "bytes_queued") >= 0);
  EXPECT(smd_hook_wants(hook, "large") >= 0 && smd_hook_saves_step(hook) >= 0);
  EXPECT(smd_hook_is_recording(hook) >= 0);
}

static void release(void *user_data) {
  EXPECT(user_data == &releases);
  ++releases;
  ask();
}

static void take_line(void *user_data, smd_log_level level, const char *message) {
  (void)user_data;
  EXPECT(level >= SMD_LOG_ERROR && message[0] != '\0');
  pthread_mutex_lock(&log_mutex);
  ask();
  ++lines;
  pthread_mutex_unlock(&log_mutex);
}

static void *ask_with_the_log_locked(void *unused) {
  (void)unused;
  while (!is_over) {
    pthread_mutex_lock(&log_mutex);
    ask();
    pthread_mutex_unlock(&log_mutex);
    usleep(100);
  }
  return NULL;
}

/* ---- tensors ---- */

static void drop_error(smd_error *error) {
  const smd_code code = smd_error_code(error);
  if (code != SMD_OK && code != SMD_STEP_DROPPED && code != SMD_IO && code != SMD_NOT_FOUND &&
      code != SMD_WRONG_STATE) {
    fprintf(stderr, "not true: %s: %s\n", smd_code_name(code), smd_error_message(error));
    abort();
  }
  smd_error_free(error);
}

static void save(smd_hook *hook, const char *name, int64_t count, int64_t stride) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = numbers;
  view.shape = &count;
  view.strides = stride == 1 ? NULL : &stride;
  view.ndim = 1;
  view.dtype = SMD_FLOAT32;
  ++expected_releases;
  drop_error(smd_hook_save_owned(hook, name, &view, release, &releases));
}

static void save_text(smd_hook *hook) {
  static const char *const texts[2] = {"a", "b"};
  const int64_t shape[1] = {2};
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = texts;
  view.shape = shape;
  view.ndim = 1;
  view.dtype = SMD_STRING;
  ++expected_releases;
  drop_error(smd_hook_save_owned(hook, "text", &view, release, &releases));
}

/* As dlpack.h 1.x has it. */
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *);
  uint64_t flags;
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
};

static void delete (struct DLManagedTensorVersioned *self) {
  free(self);
  release(&releases);
}

static void save_dlpack(smd_hook *hook, int64_t *count) {
  struct DLManagedTensorVersioned *tensor = calloc(1, sizeof *tensor);
  EXPECT(tensor != NULL);
  tensor->major = 1;
  tensor->deleter = delete;
  tensor->data = numbers;
  tensor->device_type = 1;
  tensor->ndim = 1;
  tensor->code = 2;
  tensor->bits = 32;
  tensor->lanes = 1;
  tensor->shape = count;
  ++expected_releases;
  drop_error(smd_hook_save_dlpack(hook, "dlpack", tensor));
}

static void save_all(smd_hook *hook) {
  static int64_t small = SMALL;
  static int64_t large = LARGE;
  save(hook, "small", SMALL, 1);
  save(hook, "strided", SMALL, 2);
  save(hook, "large", LARGE, 1);
  save(hook, "large strided", LARGE / 2, 2);
  save(hook, "empty", 0, 1);
  save_text(hook);
  save_dlpack(hook, &small);
  save_dlpack(hook, &large);
}

/* ---- hooks ---- */

static smd_hook *open_logging_hook(const char *path, const char *names_and_values[]) {
  smd_hook_options *options = NULL;
  smd_save_config *every_step = NULL;
  smd_reduction_config *reductions = NULL;
  smd_hook *hook = NULL;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  for (; *names_and_values != NULL; names_and_values += 2) {
    EXPECT_OK(smd_hook_options_set(options, names_and_values[0], names_and_values[1]));
  }
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_reduction_config_new(&reductions));
  EXPECT_OK(smd_reduction_config_add(reductions, "mean")); /* text has none: a debug line */
  EXPECT_OK(smd_reduction_config_set_raw(reductions, 1));
  EXPECT_OK(smd_hook_options_set_reduction_config(options, reductions));
  EXPECT_OK(smd_hook_options_set_log(options, SMD_LOG_DEBUG, take_line, NULL, NULL));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_reduction_config_free(reductions);
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  asked = hook;
  return hook;
}

static void end(smd_hook *hook) {
  drop_error(smd_hook_close(hook));
  EXPECT(releases == expected_releases);
  save(hook, "late", SMALL, 1);
  EXPECT(releases == expected_releases);
  pthread_mutex_lock(&log_mutex); /* the other thread is not asking now */
  asked = NULL;
  pthread_mutex_unlock(&log_mutex);
  smd_hook_free(hook);
}

static void record(const char *path, const char *names_and_values[]) {
  smd_hook *hook = open_logging_hook(path, names_and_values);
  const int before = lines;
  const int is_recording = smd_hook_is_recording(hook);
  save(hook, "early", SMALL, 1);
  for (int i = 0; i < STEPS; ++i) {
    drop_error(smd_hook_begin_step(hook, NULL));
    save_all(hook);
    drop_error(i % 3 == 2 ? smd_hook_discard_step(hook) : smd_hook_end_step(hook));
    if (i % 4 == 0) drop_error(smd_hook_flush(hook, 10000));
  }
  drop_error(smd_hook_begin_step(hook, NULL));
  save_all(hook);
  end(hook); /* with a step open */
  EXPECT(lines > before || !is_recording);
  remove_folder(path);
}

/* The second process of a trial says that it does not record. */
static void lose_claim(const char *path) {
  const char *none[] = {NULL};
  smd_hook *first = open_hook(path);
  record_steps(first, 1);
  const int before = lines;
  smd_hook *second = open_logging_hook(path, none);
  EXPECT_OK(smd_hook_begin_step(second, NULL));
  save_all(second);
  EXPECT_OK(smd_hook_end_step(second));
  EXPECT(lines == before + 1);
  end(second);
  smd_hook_free(first);
  remove_folder(path);
}

/* Without smd_hook_close(), memory comes back when the hook is freed. */
static void free_open(const char *path) {
  const char *none[] = {NULL};
  smd_hook *hook = open_logging_hook(path, none);
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  save_all(hook);
  pthread_mutex_lock(&log_mutex);
  asked = NULL;
  pthread_mutex_unlock(&log_mutex);
  smd_hook_free(hook);
  EXPECT(releases == expected_releases);
  remove_folder(path);
}

int main(void) {
  const char *path = fresh_folder("hook-callback");
  char spill[300];
  char file[300];
  pthread_t asker;
  snprintf(spill, sizeof spill, "%s-spill", path);
  snprintf(file, sizeof file, "%s-file", path);
  fclose(fopen(file, "w"));
  alarm(ALARM_SECONDS);
  EXPECT(pthread_create(&asker, NULL, ask_with_the_log_locked, NULL) == 0);
  record(path, (const char *[]){NULL});
  record(path, (const char *[]){"queue_bytes", "300000", NULL});
  record(path, (const char *[]){"queue_bytes", "300000", "queue_policy", "drop", NULL});
  record(path, (const char *[]){"queue_bytes", "300000", "queue_policy", "spill", "spill_dir",
                                spill, NULL});
  record(path, (const char *[]){"queue_bytes", "300000", "queue_policy", "spill", "spill_dir",
                                spill, "spill_bytes", "1000", NULL});
  record(path, (const char *[]){"queue_bytes", "300000", "queue_policy", "spill", "spill_dir", file,
                                NULL});
  record(path, (const char *[]){"tensorboard_dir", file, NULL});
  record(path, (const char *[]){"dry_run", "true", NULL});
  lose_claim(path);
  free_open(path);
  is_over = 1;
  EXPECT(pthread_join(asker, NULL) == 0);
  remove_folder(spill);
  remove_folder(file);
  return 0;
}
