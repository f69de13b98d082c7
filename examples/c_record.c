/* Records a small training run: least squares by gradient descent.
 *
 * usage: c_record OUT_DIR */
#include <math.h>

#include "example.h"

#define FEATURES 3
#define SAMPLES 64

static smd_hook *open_hook(const char *out_dir) {
  smd_hook_options *options = NULL;
  smd_save_config *every_fifth = NULL;
  smd_hook *hook = NULL;
  check(smd_hook_options_new(&options));
  check(smd_hook_options_set(options, "out_dir", out_dir));
  check(smd_hook_options_set(options, "include_collections", "weights,gradients"));
  check(smd_save_config_new(&every_fifth));
  check(smd_save_config_set(every_fifth, SMD_MODE_ANY, 5, 0, -1, NULL, 0));
  check(smd_hook_options_set_save_config(options, every_fifth));
  check(smd_hook_new(options, &hook));
  smd_save_config_free(every_fifth);
  smd_hook_options_free(options);
  return hook;
}

static void save(smd_hook *hook, const char *name, const double *data, int64_t count) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = data;
  view.shape = &count;
  view.ndim = 1;
  view.dtype = SMD_FLOAT64;
  check(smd_hook_save(hook, name, &view));
}

/* The squared error, and its gradient by the weights. */
static double evaluate(const double *weights, double *gradient) {
  double loss = 0;
  for (int j = 0; j < FEATURES; ++j) gradient[j] = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const double x[FEATURES] = {1, sin(i), cos(2 * i)};
    double error = -(0.5 + 2 * x[1] - x[2]);
    for (int j = 0; j < FEATURES; ++j) error += weights[j] * x[j];
    for (int j = 0; j < FEATURES; ++j) gradient[j] += 2 * error * x[j] / SAMPLES;
    loss += error * error / SAMPLES;
  }
  return loss;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s OUT_DIR\n", argv[0]);
    return 2;
  }
  double weights[FEATURES] = {0, 0, 0};
  double gradient[FEATURES];
  smd_hook *hook = open_hook(argv[1]);
  check(smd_hook_set_mode(hook, SMD_MODE_TRAIN));
  for (int step = 0; step < 50; ++step) {
    check(smd_hook_begin_step(hook, NULL));
    const double loss = evaluate(weights, gradient);
    save(hook, "linear.weight", weights, FEATURES);
    save(hook, "gradient/linear.weight", gradient, FEATURES);
    save(hook, "loss", &loss, 1);
    check(smd_hook_end_step(hook));
    for (int j = 0; j < FEATURES; ++j) weights[j] -= 0.2 * gradient[j];
  }
  check(smd_hook_close(hook));
  printf("recorded %lld steps into %s\n", (long long)smd_hook_count(hook, "steps_written"),
         argv[1]);
  smd_hook_free(hook);
  return 0;
}
