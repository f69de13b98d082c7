/* The structures of Arrow's C data interface and C stream interface, a frozen ABI that is
 * specified at https://arrow.apache.org/docs/format/CDataInterface.html.  A program that
 * includes another library's definitions may include this header as well. */
#ifndef SMDEBUG_ARROW_H
#define SMDEBUG_ARROW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *schema);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *array);
  void *private_data;
};
#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *stream);
  void (*release)(struct ArrowArrayStream *stream);
  void *private_data;
};
#endif /* ARROW_C_STREAM_INTERFACE */

#ifdef __cplusplus
}
#endif

/* Example: counts the rows of a stream, and releases it.
 *
 *   int64_t count_rows(struct ArrowArrayStream *stream) {
 *     int64_t rows = 0;
 *     struct ArrowArray batch;
 *     while (stream->get_next(stream, &batch) == 0 && batch.release != NULL) {
 *       rows += batch.length;
 *       batch.release(&batch);
 *     }
 *     stream->release(stream);
 *     return rows;
 *   } */

#endif /* SMDEBUG_ARROW_H */
