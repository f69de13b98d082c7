/* Late tensors. */
#include <math.h>
#include <sys/wait.h>

#include "dlpack_structs.h"
#include "expect.h"

static const int64_t kShape[1] = {3};
static const float kElements[3] = {1, -2, 0};

static smd_tensor_view view_of_elements(void) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = kElements;
  view.dtype = SMD_FLOAT32;
  view.shape = kShape;
  view.ndim = 1;
  return view;
}

/* A hook that saves these reductions, and the shape, of every tensor at every step. */
static smd_hook *open_late_hook(const char *path, const char *reductions) {
  smd_reduction_config *parts = NULL;
  smd_save_config *every_step = NULL;
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  EXPECT_OK(smd_reduction_config_new(&parts));
  EXPECT_OK(smd_reduction_config_add(parts, reductions));
  EXPECT_OK(smd_reduction_config_set_shape(parts, 1));
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_options_set_reduction_config(options, parts));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  smd_save_config_free(every_step);
  smd_reduction_config_free(parts);
  return hook;
}

/* A step that waits for "w". */
static int64_t late_step(smd_hook *hook) {
  int64_t step = -1;
  uint32_t parts = 0;
  EXPECT_OK(smd_hook_begin_step(hook, &step));
  EXPECT_OK(smd_hook_expect(hook, "w", &parts));
  EXPECT(parts != 0);
  EXPECT_OK(smd_hook_end_step(hook));
  return step;
}

static void attach(smd_hook *hook, const char *rule) {
  smd_rule_set *rules = NULL;
  EXPECT_OK(smd_rule_set_new("aws", &rules)); /* without patience */
  EXPECT_OK(smd_rule_set_add(rules, rule, NULL, SMD_ACTION_STOP));
  EXPECT_OK(smd_hook_attach(hook, rules));
  smd_rule_set_free(rules);
}

static size_t findings_of(smd_hook *hook) {
  smd_findings *findings = NULL;
  size_t count;
  EXPECT_OK(smd_hook_take_findings(hook, &findings));
  count = smd_findings_count(findings);
  smd_findings_free(findings);
  return count;
}

static void tell_what_is_selected(void) {
  const char *path = fresh_folder("late-selected");
  smd_hook *hook = open_late_hook(path, "min,std,abs_sum,abs_max,l2");
  uint32_t parts = 0x5a;
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_expect(hook, "w", &parts));
  EXPECT(parts == 0);
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_expect(hook, "w", NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_expect(hook, "", &parts));
  EXPECT_OK(smd_hook_expect(hook, "w", &parts));
  EXPECT(parts == (SMD_HAS_MIN | SMD_HAS_VARIANCE | SMD_HAS_L1 | SMD_HAS_ABS_MAX | SMD_HAS_L2 |
                   SMD_WANTS_SHAPE));
  EXPECT_OK(smd_hook_forgo(hook, "w", 0));
  EXPECT_OK(smd_hook_end_step(hook));
  attach(hook, "VanishingGradient");
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_expect(hook, "gradient/w", &parts));
  EXPECT((parts & SMD_WANTS_STATISTICS) != 0 && (parts & SMD_WANTS_VALUE) == 0);
  EXPECT_OK(smd_hook_discard_step(hook));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_forgo(hook, "gradient/w", 1));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  remove_folder(path);
}

static void refuse_what_no_step_expects(void) {
  const char *path = fresh_folder("late-refused");
  const smd_tensor_view view = view_of_elements();
  smd_statistics statistics = SMD_STATISTICS_INIT;
  smd_hook *hook = open_late_hook(path, "min");
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late(hook, "w", 0, &view));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late(hook, "w", -1, &view));
  EXPECT(late_step(hook) == 0);
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late(hook, "v", 0, &view));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_forgo(hook, "v", 0));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late(hook, NULL, 0, &view));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late(hook, "w", 0, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late_dlpack(hook, "w", 0, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late_statistics(hook, "w", 0, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late_statistics(hook, "w", 0, &statistics));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_forgo(hook, NULL, 0));
  statistics.shape = kShape;
  statistics.ndim = 1;
  statistics.dtype = SMD_FLOAT32;
  statistics.given = SMD_HAS_MAX;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_late_statistics(hook, "w", 0, &statistics));
  statistics.given = SMD_HAS_MIN;
  statistics.min = NAN;
  EXPECT_OK(smd_hook_save_late_statistics(hook, "w", 0, &statistics));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late_statistics(hook, "w", 0, &statistics));
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(smd_hook_count(hook, "tensors_written") == 1);
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late(hook, "w", 0, &view));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_forgo(hook, "w", 0));
  smd_hook_free(hook);
  remove_folder(path);
}

static void complete_steps_in_order(void) {
  const char *path = fresh_folder("late-order");
  const smd_tensor_view view = view_of_elements();
  smd_hook *hook = open_hook(path);
  smd_trial *trial;
  smd_integers *steps = NULL;
  for (int step = 0; step < 3; ++step) EXPECT(late_step(hook) == step);
  for (int step = 2; step >= 0; --step) {
    EXPECT_OK(smd_hook_flush(hook, 60000));
    EXPECT(smd_hook_count(hook, "steps_written") == 0);
    EXPECT_OK(smd_hook_save_late(hook, "w", step, &view));
  }
  EXPECT_OK(smd_hook_flush(hook, 60000));
  EXPECT(smd_hook_count(hook, "steps_written") == 3);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  trial = open_trial(path);
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_integers_count(steps) == 3);
  smd_integers_free(steps);
  smd_trial_free(trial);
  remove_folder(path);
}

static void complete_the_oldest_of_too_many(void) {
  const char *path = fresh_folder("late-many");
  smd_error *error;
  smd_hook *hook = open_hook(path);
  uint32_t parts = 0;
  for (int step = 0; step < 16; ++step) EXPECT(late_step(hook) == step);
  EXPECT_OK(smd_hook_flush(hook, 60000));
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_expect(hook, "w", &parts));
  error = smd_hook_end_step(hook);
  EXPECT(smd_error_code(error) == SMD_WRONG_STATE);
  EXPECT(strcmp(smd_error_detail(error, "step"), "0") == 0);
  EXPECT(strcmp(smd_error_detail(error, "tensor"), "w") == 0);
  smd_error_free(error);
  EXPECT_OK(smd_hook_flush(hook, 60000));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_forgo(hook, "w", 0));
  for (int step = 1; step < 16; ++step) EXPECT_OK(smd_hook_forgo(hook, "w", step));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_close(hook));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  remove_folder(path);
}

static void delete_tensor(struct DLManagedTensorVersioned *tensor) {
  ++*(int *)tensor->manager_ctx;
}

static void call_deleters_once(void) {
  const char *path = fresh_folder("late-dlpack");
  static float large[100000];
  int64_t shape[1] = {100000};
  int deleted = 0;
  smd_hook *hook = open_hook(path);
  struct DLManagedTensorVersioned tensor = {
      .version = {1, 0},
      .manager_ctx = &deleted,
      .deleter = delete_tensor,
      .tensor = {.data = large,
                 .device = {CPU, 0},
                 .ndim = 1,
                 .dtype = {DL_FLOAT, 32, 1},
                 .shape = shape},
  };
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_late_dlpack(hook, "w", 0, &tensor));
  EXPECT(deleted == 1);
  EXPECT(late_step(hook) == 0);
  EXPECT(late_step(hook) == 1);
  EXPECT_OK(smd_hook_save_late_dlpack(hook, "w", 1, &tensor));
  EXPECT_OK(smd_hook_save_late_dlpack(hook, "w", 0, &tensor));
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(deleted == 3);
  EXPECT(smd_hook_count(hook, "steps_written") == 2);
  smd_hook_free(hook);
  remove_folder(path);
}

static void evaluate_late(void) {
  const char *path = fresh_folder("late-rules");
  const float tiny[3] = {1e-9F, 0, -1e-9F};
  smd_tensor_view view = view_of_elements();
  uint32_t parts = 0;
  smd_hook *hook = open_hook(path);
  attach(hook, "VanishingGradient");
  view.data = tiny;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_expect(hook, "gradient/w", &parts));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_save(hook, "gradient/w", &view));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT(smd_hook_action(hook) == SMD_ACTION_CONTINUE && findings_of(hook) == 0);
  EXPECT_OK(smd_hook_save_late(hook, "gradient/w", 0, &view));
  EXPECT(smd_hook_action(hook) == SMD_ACTION_STOP && findings_of(hook) == 2);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  remove_folder(path);
}

static void leave_late_steps_to_the_parent(void) {
  const char *path = fresh_folder("late-fork");
  const smd_tensor_view view = view_of_elements();
  uint32_t parts = 0x5a;
  int status = 0;
  smd_hook *hook = open_hook(path);
  pid_t child;
  EXPECT(late_step(hook) == 0);
  EXPECT_OK(smd_hook_flush(hook, 60000));
  child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    EXPECT_CODE(SMD_AFTER_FORK, smd_hook_expect(hook, "w", &parts));
    EXPECT(parts == 0);
    EXPECT_CODE(SMD_AFTER_FORK, smd_hook_save_late(hook, "w", 0, &view));
    EXPECT_CODE(SMD_AFTER_FORK, smd_hook_forgo(hook, "w", 0));
    smd_hook_free(hook);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT_OK(smd_hook_save_late(hook, "w", 0, &view));
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(smd_hook_count(hook, "steps_written") == 1);
  smd_hook_free(hook);
  remove_folder(path);
}

int main(void) {
  tell_what_is_selected();
  refuse_what_no_step_expects();
  complete_steps_in_order();
  complete_the_oldest_of_too_many();
  call_deleters_once();
  evaluate_late();
#if MAY_FORK_BESIDE_THREADS
  leave_late_steps_to_the_parent();
#else
  (void)leave_late_steps_to_the_parent;
#endif
  return 0;
}
