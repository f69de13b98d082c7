/* Tables: many trials as rows and columns, in Arrow's C stream interface, which DuckDB,
 * Polars, pandas, Spark and others read. */
#ifndef SMDEBUG_SCAN_H
#define SMDEBUG_SCAN_H

#include "smdebug/arrow.h"
#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* What to read: a table, trials, columns, and conditions on rows. */
typedef struct smd_scan smd_scan;

/* A list of partitions. */
typedef struct smd_partitions smd_partitions;

/* Makes a scan of a table (docs/tables.md lists their columns):
 *   "tensors"   a row for each tensor, step and worker, with its statistics
 *   "scalars"   a row for each tensor of one element, step and worker
 *   "findings"  a row for each finding of rules, which the scan evaluates
 *   "trials"    a row for each trial, with its state and steps
 *   "profile_events"  a row for each event in the timelines of a profiler folder
 *   "system_metrics"  a row for each sample of the system metrics of a profiler folder
 * The paths of the last two name profiler folders, which have a folder "system" or "framework".
 *
 * Fails: INVALID_ARGUMENT (no such table; the message names the nearest).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_scan_new(const char *table, smd_scan **out) SMD_NOEXCEPT;

/* Adds a value to an option.  Those marked + may be added several times; of the others,
 * the last value counts.  Conditions narrow the rows together.
 *   path +        a trial or profiler folder, a folder or bucket that holds trials, or a pattern of
 * such
 *                 ("s3://jobs/2026-*"); at least one is needed
 *   name          the name of the trial, in place of the last part of its path
 *   column +      a column to return (default: all but "value", "bytes", "configuration" and
 *                 "metadata")
 *   trial +       a regular expression found in the trial's name
 *   tensor +      a tensor's name; of profilers, an event's or a metric's
 *   regex +       a regular expression found in that name
 *   collection    a collection that holds the tensor
 *   mode +        TRAIN, EVAL, PREDICT, or GLOBAL: steps of jobs without modes
 *   worker +      a worker's name; of profilers, a node's
 *   first, end    global steps: first <= step < end
 *   compute       "true": statistics that were not saved are computed from values
 *   time_first    of profilers: drops events that end before, in microseconds since 1970 (UTC)
 *   time_end      of profilers: drops events that begin then or later
 *   file +        of profilers: the end of the name of a file to read
 *   cache         "false": reads index files, not row files nor the cache of rows
 *                 of finished steps (docs/tables.md)
 *   damage        "skip" (default): what cannot be read is logged and left out;
 *                 "fail": it ends the stream
 *   rule +        a built-in rule for "findings", as NAME or NAME {"parameter": value}
 *                 (default: all of the profile whose defaults suffice)
 *   profile       "calibrated" (default), "aws" or "llm"
 *   texts         "plain" (default), or "dictionary": columns of texts are codes and a
 *                 dictionary, which DuckDB and Polars read faster; not args of
 *                 profile_events, which do not repeat
 *   batch_rows    the least number of rows of a batch, if there are as many (16384)
 *   s3_...        as for smd_trial_options_set()
 *
 * Fails: INVALID_ARGUMENT (unknown option or column; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_scan_add(smd_scan *scan, const char *option, const char *value) SMD_NOEXCEPT;

/* Sends the log lines to `log`.  `destroy`, if not NULL, is called once with `user_data`:
 * when the scan and its streams are freed, or if this fails.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_scan_set_log(smd_scan *scan, smd_log_level level, smd_log_fn log, void *user_data,
                              smd_release_fn destroy) SMD_NOEXCEPT;

/* Makes `*out` the schema of the scan's streams, without looking for trials.  The caller owns the
 * schema and releases it.
 *
 * Fails: INVALID_ARGUMENT.  `*out` is then not changed.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_scan_schema(const smd_scan *scan, struct ArrowSchema *out) SMD_NOEXCEPT;

/* Finds the trials, and makes `*out` a stream of their rows.  The caller owns the stream and
 * releases it; it outlives the scan.  Rows are read as batches are asked for, so that memory
 * does not grow with the number of rows.  The stream belongs to the process that opened it,
 * and one thread may use it at a time; batches are plain data.
 *
 * Trials that would have one name are named by the path below the folder that all share.
 *
 * Fails: INVALID_ARGUMENT (no path, or a condition that the table has not: "trials" has neither
 * tensors nor modes, only "tensors" and "scalars" have collections, and only "findings" rules),
 * NOT_FOUND (a path without trials), UNSUPPORTED (the kind of path), INVALID_CONFIG, IO,
 * PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_scan_open(const smd_scan *scan, struct ArrowArrayStream *out) SMD_NOEXCEPT;

/* A part of a scan, which can be scanned by itself, on another machine too: by a scan with
 * the same options, where the fields replace those of the same names; leave out "" and -1.
 * Texts are borrowed from the list. */
typedef struct smd_partition {
  size_t struct_size;
  const char *path;
  const char *name;
  const char *worker; /* "": all */
  int64_t first;
  int64_t end; /* -1: no end */
} smd_partition;

/* Divides the scan: rows of "tensors" and "scalars" by trial, worker and thousand of steps,
 * those of "findings" and "trials" by trial.  The rows of all partitions are those of the
 * scan.
 *
 * Fails: as smd_scan_open().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_scan_partitions(const smd_scan *scan, smd_partitions **out) SMD_NOEXCEPT;

/* Returns the number of partitions; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_partitions_count(const smd_partitions *list) SMD_NOEXCEPT;

/* Returns a partition, or NULL if there is none at the index.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_partition *smd_partitions_get(const smd_partitions *list,
                                                size_t index) SMD_NOEXCEPT;

/* Frees the list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_partitions_free(smd_partitions *list) SMD_NOEXCEPT;

/* Frees the scan; its streams live on.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_scan_free(smd_scan *scan) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: opens a stream of the scalars of all trials in a folder.
 *
 *   smd_error *open_scalars(const char *folder, struct ArrowArrayStream *out) {
 *     smd_scan *scan;
 *     smd_error *error = smd_scan_new("scalars", &scan);
 *     if (!error) error = smd_scan_add(scan, "path", folder);
 *     if (!error) error = smd_scan_open(scan, out);
 *     smd_scan_free(scan);
 *     return error;
 *   } */

#endif /* SMDEBUG_SCAN_H */
