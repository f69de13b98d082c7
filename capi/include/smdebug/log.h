/* Log lines.  A hook and a trial each log through the function given in their options.
 * Without one, lines go to stderr, from the level that SMDEBUG_LOG_LEVEL names (debug,
 * info, warning, error, off; default warning) when the options are made. */
#ifndef SMDEBUG_LOG_H
#define SMDEBUG_LOG_H

#include "smdebug/export.h"

SMD_BEGIN_DECLS

typedef int32_t smd_log_level;
enum {
  SMD_LOG_OFF = 0,
  SMD_LOG_ERROR = 1,
  SMD_LOG_WARNING = 2,
  SMD_LOG_INFO = 3,
  SMD_LOG_DEBUG = 4
};

/* Takes one line, without a newline.  Called on any thread that uses the handle and on
 * the library's own, never with a lock of the library held, never within a release or other log
 * function on the same thread, and never after the `destroy` given with it.  It may ask the handle
 * anything, but must not wait for it (docs/threading.md). */
typedef void (*smd_log_fn)(void *user_data, smd_log_level level, const char *message);

SMD_END_DECLS

/* Example: sends the log lines of a hook to a file.
 *
 *   static void write_line(void *file, smd_log_level level, const char *message) {
 *     fprintf(file, "%s%s\n", level <= SMD_LOG_ERROR ? "error: " : "", message);
 *   }
 *
 *   smd_error *log_to(smd_hook_options *options, FILE *file) {
 *     return smd_hook_options_set_log(options, SMD_LOG_WARNING, write_line, file, NULL);
 *   } */

#endif /* SMDEBUG_LOG_H */
