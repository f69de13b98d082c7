/* Structs of the caller tell their size; one that cannot be right is refused, a larger
 * one of a newer caller is read as far as it is known. */
#include "expect.h"

typedef struct {
  smd_tensor_view known;
  int64_t added_later[4];
} newer_view;

static int destroyed = 0;
static void destroy(void *self) {
  EXPECT(self == &destroyed);
  ++destroyed;
}
static int32_t invoke(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                      smd_error **error) {
  (void)self, (void)trial, (void)step, (void)findings, (void)error;
  return SMD_RULE_CONTINUE;
}

int main(void) {
  const char *path = fresh_folder("struct");
  smd_hook *hook = open_hook(path);
  smd_rule_set *set = NULL;
  smd_tensor_view view = example_view();
  newer_view newer = {example_view(), {7, 7, 7, 7}};
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  newer.known.struct_size = sizeof newer;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_save(hook, "newer", &newer.known));
  view.struct_size = 0;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save(hook, "none", &view));
  view.struct_size = sizeof view - 8;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save(hook, "cut", &view));
  view.struct_size = 1 << 20;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save(hook, "huge", &view));
  ops.invoke = invoke;
  ops.destroy = destroy;
  EXPECT_OK(smd_rule_set_new("aws", &set));
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_rule_set_add_function(set, "", &ops, &destroyed, SMD_ACTION_WARN));
  EXPECT(destroyed == 1);
  EXPECT_OK(smd_rule_set_add_function(set, "own", &ops, &destroyed, SMD_ACTION_WARN));
  EXPECT(destroyed == 1);
  ops.invoke = NULL;
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_rule_set_add_function(set, "own", &ops, &destroyed, SMD_ACTION_WARN));
  EXPECT(destroyed == 2);
  smd_rule_set_free(set);
  EXPECT(destroyed == 3);
  smd_hook_free(hook);
  remove_folder(path);
  return 0;
}
