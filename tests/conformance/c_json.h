/* Reads the scenario for the C runner, and converts bytes to hexadecimal. */
#ifndef C_JSON_H
#define C_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a NUL-terminated copy of a file.  Exits if the file cannot be read. */
char *read_file(const char *path);
void write_file(const char *path, const char *text);

/* Returns a required member.  Exits if it is missing. */
const cJSON *member(const cJSON *object, const char *name);
const char *member_text(const cJSON *object, const char *name);
int64_t member_number(const cJSON *object, const char *name);

/* Returns a copy of `text` with `from` replaced by `to`.  The caller frees it. */
char *replaced(const char *text, const char *from, const char *to);

/* Returns the bytes of a hexadecimal text.  The caller frees them. */
unsigned char *bytes_of(const char *hex);
cJSON *hex_of(const void *data, size_t size);

#endif /* C_JSON_H */
