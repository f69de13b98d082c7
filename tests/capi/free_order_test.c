/* Handles share what they need: any order of freeing is right, and a value outlives all. */
#include "expect.h"

int main(void) {
  const char *path = fresh_folder("order");
  smd_hook *hook = open_hook(path);
  smd_collection *collection = NULL;
  smd_trial *trial = NULL;
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_value *again = NULL;
  smd_strings *workers = NULL;
  EXPECT_OK(smd_hook_collection(hook, "weights", &collection));
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  EXPECT_OK(smd_collection_include(collection, "relu"));
  EXPECT(smd_collection_has(collection, "relu_1") == 1);
  smd_collection_free(collection);

  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  smd_trial_cancel(trial);
  smd_trial_free(trial);
  EXPECT_CODE(SMD_CANCELLED, smd_tensor_value(tensor, 1, SMD_MODE_GLOBAL, NULL, &value));
  smd_tensor_free(tensor);

  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  EXPECT_OK(smd_tensor_workers(tensor, 0, SMD_MODE_GLOBAL, &workers));
  smd_trial_free(trial);
  EXPECT_OK(smd_tensor_value(tensor, 1, SMD_MODE_GLOBAL, NULL, &value));
  smd_tensor_free(tensor);
  EXPECT(strcmp(smd_strings_get(workers, 0), "worker_0") == 0);
  smd_strings_free(workers);
  again = smd_value_retain(value);
  smd_value_free(value);
  EXPECT(((const float *)smd_value_data(again))[5] == 6);
  smd_value_free(again);

  smd_hook_free(NULL);
  smd_trial_free(NULL);
  smd_tensor_free(NULL);
  smd_value_free(NULL);
  smd_error_free(NULL);
  smd_collection_free(NULL);
  remove_folder(path);
  return 0;
}
