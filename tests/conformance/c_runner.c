/* Runs the conformance scenario through the C interface; see README.md. */
#include "c_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", smd_code_name(smd_error_code(error)), smd_error_message(error));
  exit(1);
}

smd_mode mode_named(const char *name) {
  for (smd_mode mode = SMD_MODE_TRAIN; mode <= SMD_MODE_GLOBAL; ++mode) {
    if (strcmp(smd_mode_name(mode), name) == 0) return mode;
  }
  exit(1);
}

smd_dtype dtype_named(const char *name) {
  for (smd_dtype dtype = SMD_FLOAT16; dtype <= SMD_STRING; ++dtype) {
    if (strcmp(smd_dtype_name(dtype), name) == 0) return dtype;
  }
  exit(1);
}

static cJSON *result_of(smd_trial *trial, const cJSON *attached, const char *out_dir,
                        const cJSON *query) {
  cJSON *result = cJSON_CreateObject();
  cJSON *value = NULL;
  char *message;
  smd_error *error = answer(trial, attached, out_dir, query, &value);
  if (error == NULL) {
    cJSON_AddItemToObject(result, "value", value);
    return result;
  }
  message = replaced(smd_error_message(error), out_dir, "<trial>");
  cJSON_AddStringToObject(result, "code", smd_code_name(smd_error_code(error)));
  cJSON_AddStringToObject(result, "message", message);
  free(message);
  smd_error_free(error);
  return result;
}

int main(int argc, char **argv) {
  char *text;
  cJSON *scenario;
  cJSON *results = cJSON_CreateObject();
  const cJSON *query;
  cJSON *attached;
  smd_trial *trial = NULL;
  if (argc != 4) return 2;
  text = read_file(argv[1]);
  scenario = cJSON_Parse(text);
  free(text);
  if (scenario == NULL) return 2;
  attached = record(scenario, argv[2]);
  must(smd_trial_open(argv[2], NULL, &trial));
  cJSON_ArrayForEach(query, member(scenario, "queries")) {
    cJSON_AddItemToObject(results, member_text(query, "id"),
                          result_of(trial, attached, argv[2], query));
  }
  text = cJSON_Print(results);
  write_file(argv[3], text);
  cJSON_free(text);
  smd_trial_free(trial);
  cJSON_Delete(results);
  cJSON_Delete(attached);
  cJSON_Delete(scenario);
  return 0;
}
