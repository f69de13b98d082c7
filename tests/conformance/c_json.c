#include "c_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocated(size_t size) {
  void *memory = malloc(size);
  if (memory != NULL) return memory;
  fputs("no memory\n", stderr);
  exit(1);
}

static FILE *opened(const char *path, const char *how) {
  FILE *file = fopen(path, how);
  if (file != NULL) return file;
  perror(path);
  exit(1);
}

char *read_file(const char *path) {
  FILE *file = opened(path, "rb");
  char *text;
  long size;
  fseek(file, 0, SEEK_END);
  size = ftell(file);
  rewind(file);
  text = allocated((size_t)size + 1);
  if (fread(text, 1, (size_t)size, file) != (size_t)size) exit(1);
  text[size] = '\0';
  fclose(file);
  return text;
}

void write_file(const char *path, const char *text) {
  FILE *file = opened(path, "wb");
  if (fputs(text, file) < 0 || fclose(file) != 0) exit(1);
}

const cJSON *member(const cJSON *object, const char *name) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
  if (found != NULL) return found;
  fprintf(stderr, "the scenario lacks '%s'\n", name);
  exit(1);
}

const char *member_text(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(member(object, name));
}

int64_t member_number(const cJSON *object, const char *name) {
  return (int64_t)cJSON_GetNumberValue(member(object, name));
}

char *replaced(const char *text, const char *from, const char *to) {
  const size_t longest = strlen(text) * (strlen(to) + 1) + 1;
  char *result = allocated(longest);
  char *end = result;
  const char *found;
  while ((found = strstr(text, from)) != NULL) {
    memcpy(end, text, (size_t)(found - text));
    end += found - text;
    end = stpcpy(end, to);
    text = found + strlen(from);
  }
  strcpy(end, text);
  return result;
}

unsigned char *bytes_of(const char *hex) {
  const size_t count = strlen(hex) / 2;
  unsigned char *bytes = allocated(count + 1);
  for (size_t i = 0; i < count; ++i) {
    const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
    bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  return bytes;
}

cJSON *hex_of(const void *data, size_t size) {
  const unsigned char *bytes = data;
  char *hex = allocated(2 * size + 1);
  cJSON *text;
  for (size_t i = 0; i < size; ++i) sprintf(hex + 2 * i, "%02x", bytes[i]);
  hex[2 * size] = '\0';
  text = cJSON_CreateString(hex);
  free(hex);
  return text;
}
