/* The raw layer of the Python, Go and Java bindings: every public function under
 * its C name, handles as typed pointers, outputs as one-element slots.  Nothing
 * here owns a handle: one hand-written class per handle frees it.
 *
 *   smd_strings **out   ->  s = new_smd_strings_slot(); f(..., s);
 *                           smd_strings_slot_value(s); delete_smd_strings_slot(s)
 *   const int64_t *     ->  new_int64_array(n), int64_array_setitem(a, i, v)
 *   tensor view         ->  raw_view_new(address, dtype, shape, strides, ndim)
 *   value's elements    ->  raw_value_address(value), valid until the value is freed
 *
 * Callbacks, DLPack and release functions are left to each language. */
%module(package="smdebug") raw

%{
#include <stdlib.h>
#include <string.h>

#include "smdebug.h"
#include "smdebug/sys/bucket.h"
#include "smdebug/sys/files.h"
%}

#ifdef SWIGGO
%include "go/internal/raw/native.i"
#endif
#ifdef SWIGJAVA
%include "java/src/main/native/native.i"
#endif

#ifdef SWIGPYTHON
%ignore smd_hook_expect; /* late.c has it */

/* Any bytes-like object. */
%typemap(in) (const void *data, size_t size) (Py_buffer held) %{
  if (PyObject_GetBuffer($input, &held, PyBUF_SIMPLE) < 0) SWIG_fail;
  $1 = held.buf;
  $2 = (size_t)held.len;
%}
%typemap(arginit) (const void *data, size_t size) %{
  held$argnum.obj = NULL;
%}
%typemap(freearg) (const void *data, size_t size) %{
  if (held$argnum.obj != NULL) PyBuffer_Release(&held$argnum);
%}

/* Memory ran out for a slot. */
%typemap(out) SWIGTYPE **, int32_t *new_int32_slot, int64_t *new_int64_slot,
    double *new_double_slot %{
  if ($1 == NULL) {
    PyErr_NoMemory();
    SWIG_fail;
  }
  $result = SWIG_NewPointerObj($1, $descriptor, 0);
%}
#endif

%include <stdint.i>
%include <cpointer.i>
%include <carrays.i>

%define HANDLE(T)
%nodefaultctor T;
%nodefaultdtor T;
struct T {};
%pointer_functions(T *, T##_slot)
%enddef

%ignore smd_tensor_view;
%ignore smd_rule_ops;
%ignore smd_rule_set_add_function;
%ignore smd_finding;
%ignore smd_findings_add;
%ignore smd_rule_result;
%ignore smd_cause;
%ignore smd_evidence;
%ignore smd_rule_parameter;
%ignore smd_rule_info;
%ignore SMD_FINDING_INIT;
%ignore smd_statistics;
%ignore SMD_STATISTICS_INIT;
%ignore smd_hook_save_statistics;
%ignore smd_hook_save_late_statistics;
%ignore smd_hook_options_set_log;
%ignore smd_trial_options_set_log;
%ignore smd_hook_save_owned;
%ignore smd_hook_save_dlpack;
%ignore smd_hook_save_late_dlpack;
%ignore smd_value_to_dlpack;
%ignore smd_value_data;
%ignore smd_release_fn;
%ignore smd_log_fn;
%ignore smd_placement;
%ignore SMD_PLACEMENT_INIT;
%ignore smd_hook_set_placement;
%ignore smd_tensor_placement;
%ignore smd_scan_set_log;
%ignore smd_profiler_options_set_log;
%ignore smd_scan_open;
%ignore smd_scan_schema;
%ignore smd_partition;
%ignore smd_partitions_get;
%ignore smd_profile_phase;
%ignore smd_profile_rules_set_log;

HANDLE(smd_text)
HANDLE(smd_strings)
HANDLE(smd_integers)
HANDLE(smd_save_config)
HANDLE(smd_reduction_config)
HANDLE(smd_collection)
HANDLE(smd_hook_options)
HANDLE(smd_hook)
HANDLE(smd_trial_options)
HANDLE(smd_trial)
HANDLE(smd_tensor)
HANDLE(smd_value)
HANDLE(smd_values)
HANDLE(smd_rule_set)
HANDLE(smd_profile_rules)
HANDLE(smd_step_file)
HANDLE(smd_event_file)
HANDLE(smd_store_report)
HANDLE(smd_findings)
HANDLE(smd_rule_results)
HANDLE(smd_diagnosis)
HANDLE(smd_bucket)
HANDLE(smd_scan)
HANDLE(smd_partitions)
HANDLE(smd_profiler_options)
HANDLE(smd_profiler)
%nodefaultctor smd_error;
%nodefaultdtor smd_error;
struct smd_error {};

%pointer_functions(int32_t, int32_slot)
%pointer_functions(int64_t, int64_slot)
%pointer_functions(double, double_slot)
%array_functions(int64_t, int64_array)
%array_functions(smd_collection *, smd_collection_array)

%include "smdebug/export.h"
%include "smdebug/types.h"
%include "smdebug/version.h"
%include "smdebug/error.h"
%include "smdebug/tensor.h"
%include "smdebug/config.h"
%include "smdebug/collection.h"
%include "smdebug/log.h"
%include "smdebug/hook_options.h"
%include "smdebug/rule_set.h"
%include "smdebug/profile_rules.h"
%include "smdebug/diagnosis.h"
%include "smdebug/hook.h"
%include "smdebug/statistics.h"
%include "smdebug/late.h"
%include "smdebug/trial_options.h"
%include "smdebug/trial.h"
%include "smdebug/values.h"
%include "smdebug/placement.h"
%include "smdebug/metadata.h"
%include "smdebug/scan.h"
%include "smdebug/profiler.h"
%include "smdebug/sys/files.h"
%include "smdebug/store.h"
%include "smdebug/sys/bucket.h"

%inline %{
/* Makes a view of the memory at `address`, which must outlive it.  Copies `shape` and
 * `strides` (in elements; NULL: compact).  Returns NULL if `ndim` is out of range or
 * memory runs out.  Free it with raw_view_free(). */
static smd_tensor_view *raw_view_new(int64_t address, smd_dtype dtype, const int64_t *shape,
                                     const int64_t *strides, int32_t ndim) {
  const smd_tensor_view empty = SMD_TENSOR_VIEW_INIT;
  smd_tensor_view *view;
  int64_t *dims;
  size_t bytes;
  if (ndim < 0 || ndim > SMD_MAX_RANK || (ndim > 0 && shape == NULL)) return NULL;
  bytes = (size_t)ndim * sizeof(int64_t);
  view = malloc(sizeof(*view) + 2 * bytes);
  if (view == NULL) return NULL;
  *view = empty;
  dims = (int64_t *)(view + 1);
  view->data = (const void *)(intptr_t)address;
  view->dtype = dtype;
  view->ndim = ndim;
  if (ndim > 0) {
    memcpy(dims, shape, bytes);
    view->shape = dims;
    if (strides != NULL) view->strides = memcpy(dims + ndim, strides, bytes);
  }
  return view;
}

static void raw_view_free(smd_tensor_view *view) { free(view); }

static int64_t raw_value_address(const smd_value *value) {
  return (int64_t)(intptr_t)smd_value_data(value);
}
%}

#ifdef SWIGJAVA
/* Fields of structures; `field` counts those of the type in their order. */
%inline %{
static const char *raw_finding_text(const smd_finding *finding, int32_t field) {
  const char *const texts[] = {finding->rule, finding->check, finding->tensor, finding->worker,
                               finding->message};
  return texts[field];
}
static int64_t raw_finding_number(const smd_finding *finding, int32_t field) {
  const int64_t numbers[] = {finding->step, finding->mode_step, finding->mode, finding->action,
                             finding->level};
  return numbers[field];
}
static double raw_finding_value(const smd_finding *finding) { return finding->value; }
static double raw_finding_limit(const smd_finding *finding) { return finding->limit; }

static const char *raw_result_rule(const smd_rule_result *result) { return result->rule; }
static const char *raw_result_message(const smd_rule_result *result) { return result->message; }
static int32_t raw_result_status(const smd_rule_result *result) { return result->status; }
static int64_t raw_result_count(const smd_rule_result *result) { return result->finding_count; }
static int64_t raw_result_looks(const smd_rule_result *result) { return result->look_count; }
static const smd_finding *raw_result_first(const smd_rule_result *result) { return result->first; }

static const char *raw_cause_text(const smd_cause *cause, int32_t field) {
  const char *const texts[] = {cause->id, cause->title, cause->advice, cause->link};
  return texts[field];
}
static double raw_cause_confidence(const smd_cause *cause) { return cause->confidence; }
static size_t raw_cause_evidence_count(const smd_cause *cause) { return cause->evidence_count; }
static size_t raw_cause_missing_count(const smd_cause *cause) { return cause->missing_count; }
static const char *raw_cause_missing(const smd_cause *cause, size_t index) {
  return cause->missing[index];
}
static const smd_finding *raw_evidence_first(const smd_cause *cause, size_t index) {
  return cause->evidence[index].first;
}
static int64_t raw_evidence_count(const smd_cause *cause, size_t index, int32_t field) {
  const int64_t counts[] = {cause->evidence[index].finding_count,
                            cause->evidence[index].tensor_count};
  return counts[field];
}

static const char *raw_rule_name(size_t rule) { return smd_builtin_rule(rule)->name; }
static const char *raw_rule_summary(size_t rule) { return smd_builtin_rule(rule)->summary; }
static size_t raw_rule_parameter_count(size_t rule) {
  return smd_builtin_rule(rule)->parameter_count;
}
static const char *raw_rule_parameter(size_t rule, size_t parameter, int32_t field) {
  const smd_rule_parameter *each = smd_builtin_rule(rule)->parameters[parameter];
  const char *const texts[] = {each->name, each->aws, each->calibrated, each->meaning};
  return texts[field];
}
%}
#endif

#ifdef SWIGPYTHON
%include "python/src/native/native.i"
#endif
