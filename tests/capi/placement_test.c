/* A tensor of which two workers hold a part each. */
#include "expect.h"

static smd_hook *open_worker(const char *path, const char *worker) {
  smd_save_config *every_step = NULL;
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_OK(smd_hook_options_set(options, "worker", worker));
  EXPECT_OK(smd_hook_options_set(options, "num_workers", "2"));
  EXPECT_OK(smd_hook_options_set(options, "include_workers", "all"));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  smd_save_config_free(every_step);
  return hook;
}

static smd_placement column(const int64_t *shape, const int64_t *offset, const int64_t *part) {
  static const int64_t mesh[1] = {2}, split[1] = {1};
  smd_placement placement = SMD_PLACEMENT_INIT;
  placement.shape = shape;
  placement.offset = offset;
  placement.part = part;
  placement.ndim = 2;
  placement.mesh = mesh;
  placement.split = split;
  placement.mesh_ndim = 1;
  return placement;
}

static void refuse_bad_placements(smd_hook *hook) {
  const int64_t shape[2] = {2, 2}, offset[2] = {0, 1}, part[2] = {2, 2};
  smd_placement bad = column(shape, offset, part);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_placement(hook, "w", &bad));
  bad.part = NULL;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_placement(hook, "w", &bad));
  bad = column(shape, offset, part);
  bad.struct_size = 8;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_placement(hook, "w", &bad));
  bad = column(shape, offset, part);
  bad.ndim = SMD_MAX_RANK + 1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_placement(hook, "w", &bad));
  bad.ndim = -1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_placement(hook, "w", &bad));
}

/* The column `number` of a 2 x 2 tensor. */
static void record(smd_hook *hook, int64_t number) {
  const int64_t shape[2] = {2, 2}, part[2] = {2, 1};
  const int64_t offset[2] = {0, number};
  const float elements[2] = {1.0F + (float)number, 3.0F + (float)number};
  const smd_placement placement = column(shape, offset, part);
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = elements;
  view.shape = part;
  view.ndim = 2;
  view.dtype = SMD_FLOAT32;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  refuse_bad_placements(hook);
  EXPECT_OK(smd_hook_set_placement(hook, "w", &placement));
  EXPECT_OK(smd_hook_save(hook, "w", &view));
  EXPECT_OK(smd_hook_end_step(hook));
}

static void close_worker(smd_hook *hook) {
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
}

static void read_placement(smd_tensor *tensor) {
  const smd_placement *found = smd_tensor_placement(tensor, "worker_1");
  EXPECT(found != NULL && found == smd_tensor_placement(tensor, "worker_1"));
  EXPECT(found->ndim == 2 && found->shape[0] == 2 && found->offset[1] == 1 && found->part[1] == 1);
  EXPECT(found->mesh_ndim == 1 && found->mesh[0] == 2 && found->split[0] == 1 && !found->is_flat);
  EXPECT(smd_tensor_placement(tensor, "worker_2") == NULL);
  EXPECT(smd_tensor_placement(tensor, NULL) == NULL && smd_tensor_placement(NULL, "w") == NULL);
}

static void read_whole(smd_tensor *tensor) {
  smd_integers *shape = NULL;
  smd_value *value = NULL;
  double sum = 0;
  EXPECT_OK(smd_tensor_full_shape(tensor, 0, SMD_MODE_GLOBAL, &shape));
  EXPECT(smd_integers_count(shape) == 2 && smd_integers_data(shape)[1] == 2);
  EXPECT_OK(smd_tensor_full_value(tensor, 0, SMD_MODE_GLOBAL, &value));
  for (int i = 0; i < 4; ++i) {
    EXPECT(((const float *)smd_value_data(value))[i] == (float)(i + 1));
  }
  smd_value_free(value);
  EXPECT_OK(smd_tensor_full_reduction(tensor, 0, SMD_MODE_GLOBAL, "sum", 0, &value));
  EXPECT_OK(smd_value_to_double(value, &sum));
  EXPECT(sum == 10);
  smd_value_free(value);
  value = NULL;
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_tensor_full_reduction(tensor, 0, SMD_MODE_GLOBAL, "avg", 0, &value));
  EXPECT_CODE(SMD_STEP_UNAVAILABLE, smd_tensor_value(tensor, 5, SMD_MODE_GLOBAL, NULL, &value));
  EXPECT_CODE(SMD_VALUE_UNAVAILABLE, smd_tensor_full_value(tensor, 5, SMD_MODE_GLOBAL, &value));
  smd_integers_free(shape);
}

int main(void) {
  const char *path = fresh_folder("placement");
  smd_trial *trial = NULL;
  smd_tensor *tensor = NULL;
  smd_hook *hooks[2] = {open_worker(path, "worker_0"), open_worker(path, "worker_1")};
  record(hooks[0], 0);
  record(hooks[1], 1);
  close_worker(hooks[0]);
  close_worker(hooks[1]);
  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  read_placement(tensor);
  read_whole(tensor);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
  remove_folder(path);
  return 0;
}
