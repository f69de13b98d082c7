/* Structs of the caller tell their size.  A size that cannot be right is refused.  A larger struct
 * of a newer caller is read as far as it is known, if the rest of it is zero. */
#include "expect.h"

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

/* A newer caller's struct: the known members, and others. */
#define NEWER(type)        \
  struct {                 \
    type known;            \
    unsigned char last[8]; \
  }

/* `call` returns `code` if the later members are zero or not there, and is refused if not. */
#define CHECK_NEWER(code, newer, call)                            \
  do {                                                            \
    (newer).known.struct_size = sizeof(newer);                    \
    memset((newer).last, 0, sizeof((newer).last));                \
    EXPECT_CODE(code, call);                                      \
    (newer).last[7] = 1;                                          \
    refused("a later member is not zero; begin with SMD_", call); \
    (newer).last[7] = 0;                                          \
    (newer).last[0] = 1;                                          \
    refused("a later member is not zero; begin with SMD_", call); \
    (newer).known.struct_size = sizeof((newer).known);            \
    EXPECT_CODE(code, call);                                      \
  } while (0)

static void refused(const char *part, smd_error *error) {
  EXPECT(smd_error_code(error) == SMD_INVALID_ARGUMENT);
  EXPECT(strstr(smd_error_message(error), part) != NULL);
  smd_error_free(error);
}

static void check_newer_structs(smd_hook *hook) {
  const int64_t shape[1] = {2}, zero[1] = {0};
  smd_rule_set *set = NULL;
  NEWER(smd_tensor_view) view;
  NEWER(smd_statistics) statistics;
  NEWER(smd_placement) placement;
  NEWER(smd_rule_ops) ops;
  view.known = example_view();
  CHECK_NEWER(SMD_OK, view, smd_hook_save(hook, "newer", &view.known));

  /* This hook saves raw values, so statistics are refused once they were read. */
  statistics.known = (smd_statistics)SMD_STATISTICS_INIT;
  statistics.known.dtype = SMD_FLOAT32;
  statistics.known.shape = shape;
  statistics.known.ndim = 1;
  statistics.known.given = SMD_HAS_MIN | SMD_HAS_MAX;
  CHECK_NEWER(SMD_UNSUPPORTED, statistics,
              smd_hook_save_statistics(hook, "statistics", &statistics.known));

  placement.known = (smd_placement)SMD_PLACEMENT_INIT;
  placement.known.shape = placement.known.part = shape;
  placement.known.offset = zero;
  placement.known.ndim = 1;
  CHECK_NEWER(SMD_OK, placement, smd_hook_set_placement(hook, "newer", &placement.known));

  EXPECT_OK(smd_rule_set_new("aws", &set));
  ops.known = (smd_rule_ops)SMD_RULE_OPS_INIT;
  ops.known.invoke = invoke;
  ops.known.destroy = destroy;
  CHECK_NEWER(SMD_OK, ops,
              smd_rule_set_add_function(set, "own", &ops.known, &destroyed, SMD_ACTION_WARN));
  EXPECT(destroyed == 2); /* the refused ones */
  smd_rule_set_free(set);
  EXPECT(destroyed == 4);
  destroyed = 0;
}

int main(void) {
  const char *path = fresh_folder("struct");
  smd_hook *hook = open_hook(path);
  smd_rule_set *set = NULL;
  smd_tensor_view view = example_view();
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  check_newer_structs(hook);
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
