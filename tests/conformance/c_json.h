/* What the C runner reads from the scenario, and bytes as hexadecimal. */
#ifndef C_JSON_H
#define C_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* A NUL-terminated copy of a file; the program ends if it cannot be read. */
char *read_file(const char *path);
void write_file(const char *path, const char *text);

/* A member that must be there. */
const cJSON *member(const cJSON *object, const char *name);
const char *member_text(const cJSON *object, const char *name);
int64_t member_number(const cJSON *object, const char *name);

/* A copy of `text` in which `from` is replaced by `to`; the caller's to free. */
char *replaced(const char *text, const char *from, const char *to);

/* The bytes of a hexadecimal text; the caller's to free. */
unsigned char *bytes_of(const char *hex);
cJSON *hex_of(const void *data, size_t size);

#endif /* C_JSON_H */
