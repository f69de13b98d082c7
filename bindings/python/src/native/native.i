/* What Python adds to the raw layer for speed and for zero-copy values. */
%header %{
#include "native.h"

static swig_type_info *NativeType(SmdNativeKind kind) {
  switch (kind) {
    case SMD_NATIVE_ERROR: return SWIGTYPE_p_smd_error;
    case SMD_NATIVE_HOOK: return SWIGTYPE_p_smd_hook;
    case SMD_NATIVE_INTEGERS: return SWIGTYPE_p_smd_integers;
    case SMD_NATIVE_PROFILER: return SWIGTYPE_p_smd_profiler;
    case SMD_NATIVE_PROFILE_RULES: return SWIGTYPE_p_smd_profile_rules;
    case SMD_NATIVE_RULE_SET: return SWIGTYPE_p_smd_rule_set;
    case SMD_NATIVE_SCAN: return SWIGTYPE_p_smd_scan;
    case SMD_NATIVE_STRINGS: return SWIGTYPE_p_smd_strings;
    case SMD_NATIVE_TENSOR: return SWIGTYPE_p_smd_tensor;
    case SMD_NATIVE_TEXT: return SWIGTYPE_p_smd_text;
    case SMD_NATIVE_TRIAL: return SWIGTYPE_p_smd_trial;
    case SMD_NATIVE_VALUE: return SWIGTYPE_p_smd_value;
    case SMD_NATIVE_VIEW: return SWIGTYPE_p_smd_tensor_view;
  }
  return NULL;
}

/* Converts what an owner holds.  SWIG itself first writes the full name of the owner's class, to compare
 * it: that took most of the time of a short call. */
static int ConvertHeld(PyObject *object, void **pointer, swig_type_info *type, int flags) {
  PyObject *held = NULL;
  if (object != NULL && object != Py_None && Py_TYPE(object) != SwigPyObject_Type()) {
    held = PyObject_GetAttr(object, SWIG_This());
    if (held == NULL) PyErr_Clear();
  }
  if (held == Py_None) Py_CLEAR(held);
  const int converted =
      SWIG_Python_ConvertPtr(held != NULL ? held : object, pointer, type, flags);
  Py_XDECREF(held); /* the owner keeps it */
  return converted;
}
#undef SWIG_ConvertPtr
#define SWIG_ConvertPtr(object, pointer, type, flags) ConvertHeld(object, pointer, type, flags)

SMD_NATIVE_HOT void *SmdNativePointer(PyObject *object, SmdNativeKind kind) {
  swig_type_info *type = NativeType(kind);
  void *pointer = NULL;
  /* A raw handle of this very type needs none of SWIG's conversions. */
  if (Py_TYPE(object) == SwigPyObject_Type()) {
    const SwigPyObject *held = (const SwigPyObject *)object;
    if (held->ty == type && held->ptr != NULL) return held->ptr;
  }
  if (SWIG_IsOK(SWIG_ConvertPtr(object, &pointer, type, 0)) && pointer != NULL) return pointer;
  SmdNativeRefuse(type->str, object);
  return NULL;
}

PyObject *SmdNativeWrap(void *pointer, SmdNativeKind kind) {
  return SWIG_NewPointerObj(pointer, NativeType(kind), 0);
}
%}

%inline %{
/* Sends log lines to Python's logging, which applies its own level. */
static smd_error *raw_hook_options_log(smd_hook_options *options) {
  return smd_hook_options_set_log(options, SMD_LOG_DEBUG, SmdNativeTakeLine, NULL, NULL);
}

static smd_error *raw_hook_options_silence(smd_hook_options *options) {
  return smd_hook_options_set_log(options, SMD_LOG_OFF, SmdNativeTakeLine, NULL, NULL);
}

static smd_error *raw_profiler_options_log(smd_profiler_options *options) {
  return smd_profiler_options_set_log(options, SMD_LOG_DEBUG, SmdNativeTakeLine, NULL, NULL);
}

static smd_error *raw_scan_log(smd_scan *scan) {
  return smd_scan_set_log(scan, SMD_LOG_DEBUG, SmdNativeTakeLine, NULL, NULL);
}

static smd_error *raw_trial_options_log(smd_trial_options *options) {
  return smd_trial_options_set_log(options, SMD_LOG_DEBUG, SmdNativeTakeLine, NULL, NULL);
}
%}

%init %{
  if (SmdNativeInit(m) < 0) return -1;
%}
