/* The raw layer of the Python, Go and Java bindings: every public function under
 * its C name, handles as typed pointers, out-parameters as one-element slots.
 * Nothing here owns anything: one hand-written class per handle frees it.
 *
 *   smd_strings **out   ->  s = new_smd_strings_slot(); f(..., s);
 *                           smd_strings_slot_value(s); delete_smd_strings_slot(s)
 *   const int64_t *     ->  new_int64_array(n), int64_array_setitem(a, i, v)
 *   tensor view         ->  raw_view_new(address, dtype, shape, strides, ndim)
 *   value's elements    ->  raw_value_address(value), valid until the value is freed
 *
 * Callbacks, DLPack and release functions stay out: each language does these by
 * its own means, or not at all. */
%module(package="smdebug") raw

%{
#include <stdlib.h>
#include <string.h>

#include "smdebug.h"
%}

#ifdef SWIGGO
%include "go/internal/raw/native.i"
#endif
#ifdef SWIGJAVA
%include "java/src/main/native/native.i"
#endif

#ifdef SWIGPYTHON
/* A slot that there is no memory for. */
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
%ignore smd_rule_new;
%ignore smd_hook_options_set_log;
%ignore smd_trial_options_set_log;
%ignore smd_hook_save_owned;
%ignore smd_hook_save_dlpack;
%ignore smd_value_to_dlpack;
%ignore smd_value_data;
%ignore smd_release_fn;
%ignore smd_log_fn;

HANDLE(smd_text)
HANDLE(smd_strings)
HANDLE(smd_steps)
HANDLE(smd_save_config)
HANDLE(smd_reduction_config)
HANDLE(smd_collection)
HANDLE(smd_hook_options)
HANDLE(smd_hook)
HANDLE(smd_trial_options)
HANDLE(smd_trial)
HANDLE(smd_tensor)
HANDLE(smd_value)
HANDLE(smd_rule)
HANDLE(smd_step_file)
HANDLE(smd_event_file)
HANDLE(smd_store_report)
HANDLE(smd_panel)
HANDLE(smd_verdicts)
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
%include "smdebug/log.h"
%include "smdebug/hook_options.h"
%include "smdebug/hook.h"
%include "smdebug/trial_options.h"
%include "smdebug/trial.h"
%include "smdebug/rule.h"
%include "smdebug/panel.h"
%include "smdebug/files.h"
%include "smdebug/store.h"

%inline %{
/* A view of the memory at `address`, which must outlive it.  `shape` and `strides`
 * (in elements; NULL: compact) are copied.  NULL if `ndim` is out of range or
 * without memory.  To be freed with raw_view_free(). */
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

#ifdef SWIGPYTHON
%include "python/src/native/native.i"
#endif
