/* DLPack tensors in both directions: no copy, and each deleter runs exactly once. */
#include "dlpack_structs.h"
#include "expect.h"

enum { LARGE = 1 << 16 };

static int deleted = 0;
static float numbers[LARGE];
static int64_t large_shape[1] = {LARGE};

static void delete (struct DLManagedTensorVersioned *self) {
  ++deleted;
  free(self);
}

static struct DLManagedTensorVersioned *lend(void) {
  struct DLManagedTensorVersioned *lent = calloc(1, sizeof *lent);
  EXPECT(lent != NULL);
  lent->version.major = 1;
  lent->deleter = delete;
  lent->tensor.data = numbers;
  lent->tensor.device.type = CPU;
  lent->tensor.ndim = 1;
  lent->tensor.dtype.code = DL_FLOAT;
  lent->tensor.dtype.bits = 32;
  lent->tensor.dtype.lanes = 1;
  lent->tensor.shape = large_shape;
  return lent;
}

static void refused(smd_hook *hook, smd_code code, struct DLManagedTensorVersioned *lent) {
  const int before = deleted;
  EXPECT_CODE(code, smd_hook_save_dlpack(hook, "w", lent));
  EXPECT(deleted == before + 1);
}

static void record(const char *path) {
  smd_hook *hook = open_hook(path);
  struct DLManagedTensorVersioned *lent = lend();
  refused(hook, SMD_WRONG_STATE, lend());
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  refused(NULL, SMD_INVALID_ARGUMENT, lend());
  lent->tensor.device.type = CUDA;
  refused(hook, SMD_UNSUPPORTED, lent);
  lent = lend();
  lent->version.major = 2;
  refused(hook, SMD_UNSUPPORTED, lent);
  lent = lend();
  lent->tensor.dtype.lanes = 4;
  refused(hook, SMD_UNSUPPORTED, lent);
  lent = lend();
  lent->tensor.data = NULL;
  refused(hook, SMD_INVALID_ARGUMENT, lent);
  struct DLManagedTensorVersioned *without_deleter = lend();
  without_deleter->deleter = NULL;
  EXPECT_OK(smd_hook_save_dlpack(hook, "without a deleter", without_deleter));
  deleted = 0;
  EXPECT_OK(smd_hook_save_dlpack(hook, "w", lend()));
  lent = lend();
  lent->tensor.ndim = 0;
  EXPECT_OK(smd_hook_save_dlpack(hook, "scalar", lent));
  EXPECT(deleted >= 1); /* so small a tensor is copied */
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_flush(hook, 5000));
  EXPECT(deleted == 2);
  free(without_deleter);
  EXPECT_OK(smd_hook_close(hook));
  refused(hook, SMD_WRONG_STATE, lend());
  smd_hook_free(hook);
}

static void read_back(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  struct DLManagedTensorVersioned *lent = NULL;
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  EXPECT_OK(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, &value));
  EXPECT_OK(smd_value_to_dlpack(value, &lent));
  EXPECT(lent->tensor.data == smd_value_data(value));
  EXPECT((lent->flags & 1) != 0); /* read-only */
  smd_value_free(value);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
  EXPECT(lent->version.major == 1 && lent->tensor.device.type == CPU && lent->tensor.ndim == 1);
  EXPECT(lent->tensor.dtype.code == DL_FLOAT && lent->tensor.dtype.bits == 32);
  EXPECT(lent->tensor.shape[0] == LARGE && lent->tensor.strides[0] == 1);
  EXPECT(memcmp(lent->tensor.data, numbers, sizeof numbers) == 0);
  lent->deleter(lent);
}

int main(void) {
  const char *path = fresh_folder("dlpack");
  for (int i = 0; i < LARGE; ++i) numbers[i] = (float)i;
  record(path);
  read_back(path);
  remove_folder(path);
  return 0;
}
