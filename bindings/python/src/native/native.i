/* What Python adds to the raw layer for speed and for zero-copy values. */
%header %{
#include "native.h"

static swig_type_info *NativeType(SmdNativeKind kind) {
  switch (kind) {
    case SMD_NATIVE_ERROR: return SWIGTYPE_p_smd_error;
    case SMD_NATIVE_HOOK: return SWIGTYPE_p_smd_hook;
    case SMD_NATIVE_STEPS: return SWIGTYPE_p_smd_steps;
    case SMD_NATIVE_STRINGS: return SWIGTYPE_p_smd_strings;
    case SMD_NATIVE_TENSOR: return SWIGTYPE_p_smd_tensor;
    case SMD_NATIVE_TEXT: return SWIGTYPE_p_smd_text;
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

%init %{
  if (SmdNativeInit(m) < 0) return -1;
%}
