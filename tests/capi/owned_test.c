/* Memory given to the library comes back exactly once, whatever happens. */
#include "expect.h"

static int released = 0;
static void release(void *user_data) {
  EXPECT(user_data == &released);
  ++released;
}

int main(void) {
  const char *path = fresh_folder("owned");
  smd_hook *hook = open_hook(path);
  smd_tensor_view view = example_view();
  const int64_t large_shape[1] = {1 << 20};
  float *large = calloc(1 << 20, sizeof *large);
  EXPECT(large != NULL);
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_owned(hook, "early", &view, release, &released));
  EXPECT(released == 1);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_owned(hook, NULL, &view, release, &released));
  EXPECT(released == 2);
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_save_owned(hook, "small", &view, release, &released));
  EXPECT(released == 3);
  view.data = large;
  view.shape = large_shape;
  view.ndim = 1;
  EXPECT_OK(smd_hook_save_owned(hook, "large", &view, release, &released));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_close(hook));
  EXPECT(released == 4);
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_owned(hook, "late", &view, release, &released));
  EXPECT(released == 5);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_owned(NULL, "w", &view, release, &released));
  EXPECT(released == 6);
  smd_hook_free(hook);
  free(large);
  remove_folder(path);
  return 0;
}
