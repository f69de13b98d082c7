/* Tensors that cannot be: each is refused with a sentence, and what was saved stays. */
#include "expect.h"

static void refuse(smd_hook *hook, smd_tensor_view view, smd_code code) {
  EXPECT_CODE(code, smd_hook_save(hook, "w", &view));
}

static void refuse_each(smd_hook *hook) {
  const int64_t negative[1] = {-3};
  const int64_t enormous[3] = {INT64_C(1) << 40, INT64_C(1) << 40, 2};
  const int64_t two_gib[1] = {INT64_C(1) << 30};
  const int64_t far[2] = {INT64_MAX, 1};
  smd_tensor_view view = example_view();
  view.dtype = 999;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view = example_view();
  view.ndim = -1;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view.ndim = SMD_MAX_RANK + 1;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view = example_view();
  view.shape = NULL;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view = example_view();
  view.data = NULL;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view = example_view();
  view.strides = far;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view = example_view();
  view.ndim = 1;
  view.shape = negative;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view.ndim = 3;
  view.shape = enormous;
  refuse(hook, view, SMD_INVALID_ARGUMENT);
  view.ndim = 1;
  view.shape = two_gib;
  view.dtype = SMD_STRING;
  refuse(hook, view, SMD_UNSUPPORTED);
  view = example_view();
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save(hook, "", &view));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save(hook, "\xff\xfe", &view));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_mode(hook, 0));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_set_mode(hook, 5));
}

int main(void) {
  const char *path = fresh_folder("hostile");
  const smd_tensor_view view = example_view();
  smd_hook *hook = open_hook(path);
  smd_trial *trial = NULL;
  smd_strings *names = NULL;
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  refuse_each(hook);
  EXPECT_OK(smd_hook_save(hook, "good", &view));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL, NULL, &names));
  EXPECT(smd_strings_count(names) == 2);
  smd_strings_free(names);
  smd_trial_free(trial);
  remove_folder(path);
  return 0;
}
