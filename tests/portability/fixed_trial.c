/* Records a trial whose bytes depend on nothing but the library: every element type in several
 * sizes, every reduction, two modes, two workers.
 *
 * usage: fixed_trial OUT_DIR */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "smdebug.h"

enum { STEPS = 12, LONGEST = 5003 };

static const char *const kReductions =
    "min,max,median,mean,std,variance,sum,prod,l1,l2,"
    "abs_min,abs_max,abs_median,abs_mean,abs_std,abs_variance,abs_sum,abs_prod,abs_l1,abs_l2";
/* 0, 1, 2, 3 and -1, -1.5, -2, -3: these are summed with the precision of float. */
static const uint16_t kHalves[] = {0x0000, 0x3C00, 0x4000, 0x4200, 0xBC00, 0xBE00, 0xC000, 0xC200};
static const char *const kTexts[] = {"", "a", "two words", "\xC3\xA9t\xC3\xA9"};

/* Takes the place of the C library's: the time of day stands still. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_REALTIME) return (int)syscall(SYS_clock_gettime, clock, time);
  time->tv_sec = 1600000000;
  time->tv_nsec = 250000000;
  return 0;
}

static void must(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", smd_code_name(smd_error_code(error)), smd_error_message(error));
  exit(1);
}

static void add_collection(smd_hook_options *options, const char *name, const char *regex,
                           int figures) {
  smd_collection *collection = NULL;
  smd_reduction_config *config = NULL;
  must(smd_collection_new(name, &collection));
  must(smd_collection_include_regex(collection, regex));
  must(smd_reduction_config_new(&config));
  if (figures) must(smd_reduction_config_add(config, kReductions));
  must(smd_reduction_config_set_raw(config, !figures));
  must(smd_reduction_config_set_shape(config, figures));
  must(smd_collection_set_reduction_config(collection, config));
  must(smd_hook_options_add_collection(options, collection));
  smd_reduction_config_free(config);
  smd_collection_free(collection);
}

static smd_hook *open_hook(const char *out_dir, const char *worker) {
  smd_hook_options *options = NULL;
  smd_save_config *every_step = NULL;
  smd_hook *hook = NULL;
  must(smd_hook_options_new(&options));
  must(smd_hook_options_set(options, "out_dir", out_dir));
  must(smd_hook_options_set(options, "worker", worker));
  must(smd_hook_options_set(options, "num_workers", "2"));
  must(smd_hook_options_set(options, "include_workers", "all"));
  must(smd_hook_options_set(options, "include_collections", "values,figures"));
  add_collection(options, "values", "^value/", 0);
  add_collection(options, "figures", "^figures/", 1);
  must(smd_save_config_new(&every_step));
  must(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  must(smd_hook_options_set_save_config(options, every_step));
  must(smd_hook_new(options, &hook));
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  return hook;
}

static void save(smd_hook *hook, const char *name, smd_dtype dtype, const void *data,
                 int64_t count) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = data;
  view.shape = &count;
  view.ndim = 1;
  view.dtype = dtype;
  must(smd_hook_save(hook, name, &view));
}

/* The same numbers on every machine. */
static uint32_t next_number(uint64_t *state) {
  *state = *state * 6364136223846793005U + 1442695040888963407U;
  return (uint32_t)(*state >> 33);
}

/* Saves any bytes as values of each type. */
static void save_values(smd_hook *hook, uint64_t *state) {
  static uint8_t bytes[LONGEST * 16];
  const int64_t counts[] = {0, 1, 7, LONGEST};
  char name[64];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)next_number(state);
  for (smd_dtype dtype = SMD_FLOAT16; dtype < SMD_STRING; ++dtype) {
    if (smd_dtype_size(dtype) == 0) continue;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
      snprintf(name, sizeof name, "value/%s/%d", smd_dtype_name(dtype), (int)counts[i]);
      save(hook, name, dtype, bytes, counts[i]);
    }
  }
  save(hook, "value/string", SMD_STRING, kTexts, 4);
}

/* Saves the reductions of numbers whose sums and squares are exact, whatever their order: so the
 * instructions of a processor cannot change them. */
static void save_figures(smd_hook *hook, uint64_t *state) {
  static double doubles[LONGEST];
  static float floats[LONGEST];
  static int32_t integers[LONGEST];
  static int8_t bytes[LONGEST];
  static uint16_t halves[LONGEST];
  for (int i = 0; i < LONGEST; ++i) {
    const int32_t number = (int32_t)(next_number(state) % 4096) - 2048;
    integers[i] = number;
    floats[i] = (float)number / 1024;
    doubles[i] = (double)number / 4096;
    bytes[i] = (int8_t)(number % 128);
    halves[i] = kHalves[number & 7];
  }
  const int64_t counts[] = {1, 7, LONGEST};
  char name[64];
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    snprintf(name, sizeof name, "figures/double/%d", (int)counts[i]);
    save(hook, name, SMD_FLOAT64, doubles, counts[i]);
    snprintf(name, sizeof name, "figures/float/%d", (int)counts[i]);
    save(hook, name, SMD_FLOAT32, floats, counts[i]);
    snprintf(name, sizeof name, "figures/half/%d", (int)counts[i]);
    save(hook, name, SMD_FLOAT16, halves, counts[i]);
    snprintf(name, sizeof name, "figures/integer/%d", (int)counts[i]);
    save(hook, name, SMD_INT32, integers, counts[i]);
    snprintf(name, sizeof name, "figures/byte/%d", (int)counts[i]);
    save(hook, name, SMD_INT8, bytes, counts[i]);
  }
}

static void record_step(smd_hook *hook, int step, uint64_t *state) {
  must(smd_hook_set_mode(hook, step % 3 == 2 ? SMD_MODE_EVAL : SMD_MODE_TRAIN));
  must(smd_hook_begin_step(hook, NULL));
  save_values(hook, state);
  save_figures(hook, state);
  must(smd_hook_end_step(hook));
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s OUT_DIR\n", argv[0]);
    return 2;
  }
  smd_hook *hooks[] = {open_hook(argv[1], "worker_0"), open_hook(argv[1], "worker_1")};
  uint64_t state = 1;
  for (int step = 0; step < STEPS; ++step) {
    for (int worker = 0; worker < 2; ++worker) record_step(hooks[worker], step, &state);
  }
  for (int worker = 0; worker < 2; ++worker) {
    must(smd_hook_close(hooks[worker]));
    smd_hook_free(hooks[worker]);
  }
  return 0;
}
