/* What Python adds to the raw layer for speed and for zero-copy values. */
%header %{
#include "native.h"

static swig_type_info *NativeType(SmdNativeKind kind) {
  switch (kind) {
    case SMD_NATIVE_ERROR: return SWIGTYPE_p_smd_error;
    case SMD_NATIVE_HOOK: return SWIGTYPE_p_smd_hook;
    case SMD_NATIVE_INTEGERS: return SWIGTYPE_p_smd_integers;
    case SMD_NATIVE_RULE_SET: return SWIGTYPE_p_smd_rule_set;
    case SMD_NATIVE_STRINGS: return SWIGTYPE_p_smd_strings;
    case SMD_NATIVE_TENSOR: return SWIGTYPE_p_smd_tensor;
    case SMD_NATIVE_TEXT: return SWIGTYPE_p_smd_text;
    case SMD_NATIVE_TRIAL: return SWIGTYPE_p_smd_trial;
    case SMD_NATIVE_VALUE: return SWIGTYPE_p_smd_value;
    case SMD_NATIVE_VIEW: return SWIGTYPE_p_smd_tensor_view;
  }
  return NULL;
}

void *SmdNativePointer(PyObject *object, SmdNativeKind kind) {
  void *pointer = NULL;
  if (SWIG_IsOK(SWIG_ConvertPtr(object, &pointer, NativeType(kind), 0)) && pointer != NULL) {
    return pointer;
  }
  SmdNativeRefuse(NativeType(kind)->str, object);
  return NULL;
}

PyObject *SmdNativeWrap(void *pointer, SmdNativeKind kind) {
  return SWIG_NewPointerObj(pointer, NativeType(kind), 0);
}
%}

%inline %{
static void raw_collect_line(void *lines, smd_log_level level, const char *message) {
  (void)level;
  smd_error_free(smd_strings_add(lines, message));
}

static void raw_drop_line(void *unused, smd_log_level level, const char *message) {
  (void)unused;
  (void)level;
  (void)message;
}

/* Calls smd_hook_options_load() and returns its warnings, for Python's log. */
static smd_error *raw_hook_options_load(smd_hook_options *options, const char *path,
                                        smd_strings **out) {
  smd_strings *lines = NULL;
  smd_error *error = smd_strings_new(&lines);
  if (error == NULL) {
    error = smd_hook_options_set_log(options, SMD_LOG_WARNING, raw_collect_line, lines, NULL);
  }
  if (error == NULL) error = smd_hook_options_load(options, path);
  /* The options may outlive the lines. */
  if (error == NULL) {
    error = smd_hook_options_set_log(options, SMD_LOG_OFF, raw_drop_line, NULL, NULL);
  } else {
    smd_error_free(smd_hook_options_set_log(options, SMD_LOG_OFF, raw_drop_line, NULL, NULL));
  }
  if (error == NULL) {
    *out = lines;
  } else {
    smd_strings_free(lines);
  }
  return error;
}
%}

%init %{
  if (SmdNativeInit(m) < 0) return -1;
%}
