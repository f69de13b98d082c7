/* One step's files written and read without a hook or a trial. */
#include "smdebug/sys/files.h"

#include "expect.h"

static void write_step(const char *path, char *event_path, size_t size) {
  const smd_tensor_view view = example_view();
  static const char *const texts[2] = {"one", "two"};
  static const int64_t two[1] = {2};
  smd_tensor_view text = SMD_TENSOR_VIEW_INIT;
  smd_step_file *file = NULL;
  text.data = texts;
  text.shape = two;
  text.ndim = 1;
  text.dtype = SMD_STRING;
  EXPECT_OK(smd_step_file_open(path, 7, "worker_1", &file));
  EXPECT_OK(smd_step_file_add_tensor(file, "w", &view, 3, SMD_MODE_EVAL, 1600000000.25));
  EXPECT_OK(smd_step_file_add_tensor(file, "text", &text, 3, SMD_MODE_EVAL, 0));
  EXPECT_OK(smd_step_file_add_shape(file, "s", example_shape, 2, 3, SMD_MODE_EVAL, "own name"));
  snprintf(event_path, size, "%s", smd_step_file_path(file));
  EXPECT(access(event_path, F_OK) != 0);
  EXPECT_OK(smd_step_file_close(file));
  EXPECT_OK(smd_step_file_close(file));
  EXPECT(access(event_path, F_OK) == 0);
  EXPECT_CODE(SMD_WRONG_STATE, smd_step_file_add_tensor(file, "w", &view, 3, SMD_MODE_EVAL, 0));
  smd_step_file_free(file);
}

static void read_events(const char *event_path) {
  smd_event_file *file = NULL;
  smd_value *value = NULL;
  smd_strings *texts = NULL;
  int32_t found = 0;
  EXPECT_CODE(SMD_NOT_FOUND, smd_event_file_open("no/such.tfevents", &file));
  EXPECT_OK(smd_event_file_open(event_path, &file));
  EXPECT_CODE(SMD_WRONG_STATE, smd_event_file_value(file, &value));
  EXPECT_OK(smd_event_file_next(file, &found));
  EXPECT(found == 1 && strcmp(smd_event_file_tensor(file), "w") == 0);
  EXPECT(smd_event_file_step(file) == 7 && smd_event_file_mode_step(file) == 3);
  EXPECT(smd_event_file_mode(file) == SMD_MODE_EVAL);
  EXPECT(smd_event_file_timestamp(file) == 1600000000.25);
  EXPECT_OK(smd_event_file_value(file, &value));
  EXPECT(memcmp(smd_value_data(value), example_data, sizeof example_data) == 0);
  smd_value_free(value);
  EXPECT_OK(smd_event_file_next(file, &found));
  EXPECT(found == 1 && smd_event_file_timestamp(file) > 1.6e9);
  EXPECT_OK(smd_event_file_value(file, &value));
  EXPECT(smd_value_dtype(value) == SMD_STRING && smd_value_data(value) == NULL);
  EXPECT_OK(smd_value_strings(value, &texts));
  EXPECT(smd_strings_count(texts) == 2 && strcmp(smd_strings_get(texts, 1), "two") == 0);
  EXPECT(smd_strings_size(texts, 1) == 3 && smd_strings_get(texts, 2) == NULL);
  smd_strings_free(texts);
  smd_value_free(value);
  EXPECT_OK(smd_event_file_next(file, &found));
  EXPECT(found == 0 && smd_event_file_tensor(file)[0] == '\0');
  smd_event_file_free(file);
}

/* With collections next to them, the files form a trial. */
static void read_trial(const char *path) {
  smd_collection *collection = NULL;
  smd_text *text = NULL;
  smd_trial *trial = NULL;
  smd_tensor *tensor = NULL;
  smd_text *original = NULL;
  smd_integers *shape = NULL;
  char file_name[400];
  char command[400];
  EXPECT_OK(smd_collection_new("default", &collection));
  EXPECT_OK(smd_collections_to_json((const smd_collection *const[]){collection}, 1, 1, &text));
  snprintf(command, sizeof command, "mkdir -p '%s/collections/000000000'", path);
  EXPECT(system(command) == 0);
  snprintf(file_name, sizeof file_name, "%s/collections/000000000/worker_1_collections.json", path);
  FILE *file = fopen(file_name, "wb");
  EXPECT(file != NULL);
  EXPECT(fwrite(smd_text_data(text), 1, smd_text_size(text), file) == smd_text_size(text));
  EXPECT(fclose(file) == 0);
  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "s", &tensor));
  EXPECT_OK(smd_tensor_shape(tensor, 3, SMD_MODE_EVAL, NULL, &shape));
  EXPECT(smd_integers_count(shape) == 2 && smd_integers_get(shape, 1) == 3);
  EXPECT_OK(smd_tensor_original_name(tensor, &original));
  EXPECT(strcmp(smd_text_data(original), "own name") == 0);
  smd_text_free(original);
  smd_integers_free(shape);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
  smd_text_free(text);
  smd_collection_free(collection);
}

static void give_up(const char *path) {
  const smd_tensor_view view = example_view();
  smd_step_file *file = NULL;
  char event_path[300];
  EXPECT_OK(smd_step_file_open(path, 8, "worker_1", &file));
  EXPECT_OK(smd_step_file_add_tensor(file, "w", &view, -1, SMD_MODE_GLOBAL, 0));
  snprintf(event_path, sizeof event_path, "%s", smd_step_file_path(file));
  smd_step_file_free(file);
  EXPECT(access(event_path, F_OK) != 0);
}

int main(void) {
  const char *path = fresh_folder("files");
  char event_path[300];
  write_step(path, event_path, sizeof event_path);
  read_events(event_path);
  read_trial(path);
  give_up(path);
  remove_folder(path);
  return 0;
}
