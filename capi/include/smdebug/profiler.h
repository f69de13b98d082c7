/* Recording where the time of a job goes: a timeline of events, and samples of the machine. */
#ifndef SMDEBUG_PROFILER_H
#define SMDEBUG_PROFILER_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

typedef struct smd_profiler_options smd_profiler_options;
typedef struct smd_profiler smd_profiler; /* records a profile */

/* ---- options ------------------------------------------------------------- */

/* Makes options with the defaults below.  `out_dir` must be set.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_options_new(smd_profiler_options **out) SMD_NOEXCEPT;

/* Sets one option by its name.  Defaults are in parentheses:
 *   out_dir             folder of the profile ("~" is the home folder), or s3://bucket/prefix;
 *                       required
 *   node                name of this process in file names; "_" becomes "-"
 *                       ("<process>-<host>")
 *   rotate_bytes        a timeline file ends when it is larger ("10485760")
 *   rotate_seconds      a timeline file ends when it is older ("60")
 *   buffer_bytes        most bytes of events that wait to be written; events beyond are
 *                       dropped and counted ("16777216")
 *   sample_milliseconds how often the machine is sampled: "100", "200", "500", "1000",
 *                       "5000" or "60000"; "0": never ("0")
 *   sample_gpus         "false": GPUs are not sampled ("true")
 *   system_node         name of this machine in samples: "algo-" and a number, as readers
 *                       skip all others (that of the training service, else "algo-1")
 *   update_seconds      smd_profiler_update() looks at its file at most this often ("0": at each
 *                       call)
 *   close_seconds       how long closing may wait for writes ("30")
 *   s3_...              see smdebug/store.h
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_options_set(smd_profiler_options *options, const char *name,
                                      const char *value) SMD_NOEXCEPT;

/* Returns one option as smd_profiler_options_set() takes it; "" if it has no value.
 *
 * Fails: INVALID_ARGUMENT (an unknown name, or an option of a store, s3_...; the message
 * names the nearest).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_options_get(const smd_profiler_options *options, const char *name,
                                      smd_text **out) SMD_NOEXCEPT;

/* Sends log lines to `log`, as smd_hook_options_set_log() does.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_options_set_log(smd_profiler_options *options, smd_log_level level,
                                          smd_log_fn log, void *user_data,
                                          smd_release_fn destroy) SMD_NOEXCEPT;

/* Frees the options.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_profiler_options_free(smd_profiler_options *options) SMD_NOEXCEPT;

/* ---- life ---------------------------------------------------------------- */

/* Opens a profiler that records into out_dir.  Completes the files that killed processes left
 * there.  If sample_milliseconds is set, starts a thread that samples the machine, unless another
 * process of this machine samples into out_dir.  Events are written by a second thread, which
 * starts with the first one.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_new(const smd_profiler_options *options, smd_profiler **out) SMD_NOEXCEPT;

/* Opens a profiler that follows the configuration file of the training service.  `path` may be
 * NULL: the file that SMPROFILER_CONFIG_PATH names, else /opt/ml/input/config/profilerconfig.json.
 * `options` may be NULL; they hold what the file does not say.  A missing file, one with
 * "DisableProfiler": true, and one without "ProfilingParameters" mean off: events are dropped.
 * docs/profiler.md lists the keys.  An invalid setting is logged and does not count.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG (the file is no JSON object; the message names it),
 * UNSUPPORTED, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_follow(const char *path, const smd_profiler_options *options,
                                 smd_profiler **out) SMD_NOEXCEPT;

/* Rereads the configuration file if it changed; looks at most once in update_seconds.  Call it
 * between steps.  Returns 1 if events are recorded, else 0: the profiler is off, closed, of a
 * parent process, or NULL.  A file that cannot be read is logged, and changes nothing.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_profiler_update(smd_profiler *profiler) SMD_NOEXCEPT;

/* Returns 1 if `feature` is to be profiled at this step, now: "detailed" (modules), "dataloader",
 * "python", "smdataparallel" or "horovod".  The file gives each a window of steps or of time.
 * `event` may be NULL, or the name of an event, which "MetricsRegex" selects for "dataloader".
 * Without a file, everything is active.  Returns 0 if not, -1 for NULL and for unknown features.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_profiler_is_active(smd_profiler *profiler, const char *feature, int64_t step,
                                       const char *event) SMD_NOEXCEPT;

/* Returns a setting in force: "config_path" ("": none), "out_dir", "metrics_regex",
 * "profiler_name" ("cprofile" or "pyinstrument"), or "cprofile_timer" ("total_time", "cpu_time",
 * "off_cpu_time" or "default").
 *
 * Fails: INVALID_ARGUMENT (the message names the nearest name), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_get(const smd_profiler *profiler, const char *name,
                              smd_text **out) SMD_NOEXCEPT;

/* Ends the open files, so that readers see everything so far.  Waits at most `timeout_ms`
 * milliseconds; a negative timeout waits without limit.  Without this call, readers see events
 * when rotate_bytes or rotate_seconds end their file.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), TIMEOUT, AFTER_FORK, or the first
 * unreported error of the writing threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_flush(smd_profiler *profiler, int32_t timeout_ms) SMD_NOEXCEPT;

/* Writes everything, then the end markers, and ends the threads.  A second call does nothing, or
 * waits for the first one, as that of smd_hook_close().
 *
 * Fails: INVALID_ARGUMENT, TIMEOUT (close_seconds), AFTER_FORK, or the first unreported error
 * of the writing threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_close(smd_profiler *profiler) SMD_NOEXCEPT;

/* Frees the profiler.  A profiler that was not closed writes everything, but no end markers.
 * NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_profiler_free(smd_profiler *profiler) SMD_NOEXCEPT;

/* ---- events -------------------------------------------------------------- */

/* Returns the time that events are recorded with: microseconds since 1970.  It never decreases,
 * also if the machine's clock is set back.  0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_profiler_now(const smd_profiler *profiler) SMD_NOEXCEPT;

/* Records an event of this thread that began at `begin_us`, microseconds since 1970, and took
 * `duration_us`.  `phase` groups events: the original's readers and rules know phases such as
 * "Step:ModeKeys.TRAIN", "Forward", "Backward(post-forward)" and "DataLoaderIter".  `step` is
 * negative if the event belongs to none.  `args` may be NULL, or the text of a JSON object of at
 * most 64 KiB, whose members are added to the event's.
 *
 * Copies everything and returns; a thread writes it within a second.  No failure to write is
 * reported here: a full buffer drops the event, which smd_profiler_count() counts.
 *
 * Fails: INVALID_ARGUMENT (also for a `name` or `phase` of more than 4096 bytes), WRONG_STATE
 * (closed), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_event(smd_profiler *profiler, const char *name, const char *phase,
                                int64_t step, int64_t begin_us, int64_t duration_us,
                                const char *args) SMD_NOEXCEPT;

/* Begins an event of this thread now.  It lasts until smd_profiler_end().  Events of one phase may
 * be nested; those of different phases, or threads, may overlap.
 *
 * Fails: as smd_profiler_event().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_begin(smd_profiler *profiler, const char *name, const char *phase,
                                int64_t step, const char *args) SMD_NOEXCEPT;

/* Ends the event of this phase that this thread began last.  An end without a begin is counted as
 * a dropped event.
 *
 * Fails: as smd_profiler_event().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_end(smd_profiler *profiler, const char *phase) SMD_NOEXCEPT;

/* Records a moment, now.  Viewers show it; the original's readers skip it.
 *
 * Fails: as smd_profiler_event().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profiler_instant(smd_profiler *profiler, const char *name, const char *phase,
                                  int64_t step, const char *args) SMD_NOEXCEPT;

/* Returns a count since the profiler was made: "events_written", "events_dropped",
 * "files_written", "bytes_written", or "samples"; -1 for an unknown name.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_profiler_count(const smd_profiler *profiler, const char *name) SMD_NOEXCEPT;

/* ---- traces of others ---------------------------------------------------- */

/* Adds the complete events of a trace in Chrome's format, such as torch.profiler writes, to the
 * profile in `out_dir`.  `trace` is a file, or s3://bucket/key, of at most 1 GiB, not compressed.
 * `node` names the process of the trace in file names; NULL: "trace".  `out` receives the number of
 * events.  Kernels get the phase "gpu_functions-dev:<n>", operators "cpu_functions", events of
 * other programs that of their process; an event within "ProfilerStep#<n>" has step n.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, NOT_FOUND, CORRUPT_DATA (cut off, or no such trace;
 * nothing is added), UNSUPPORTED (compressed), IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profile_import_trace(const char *trace, const char *out_dir, const char *node,
                                      int64_t *out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: records how long a part of a step took.
 *
 *   smd_error *time_forward(smd_profiler *profiler, int64_t step, void (*forward)(void)) {
 *     const char *phase = "Step:ModeKeys.TRAIN";
 *     smd_error *error = smd_profiler_begin(profiler, "forward", phase, step, NULL);
 *     forward();
 *     return error != NULL ? error : smd_profiler_end(profiler, phase);
 *   } */

#endif /* SMDEBUG_PROFILER_H */
