/* The Java part of the raw layer.  Handles are numbers (long), which the classes of
 * org.smdebug own.  A function that fails throws; one that fills a handle returns the
 * handle:
 *
 *   smd_error *smd_trial_open(path, options, out)
 *     ->  long smd_trial_open(String path, long options)
 *
 * Texts are passed as UTF-8 in byte arrays, because JNI's "modified UTF-8" is not UTF-8. */
%{
#include "native.h"
%}

%javaconst(1);
%javaconst(0) SMD_ABI_LEVEL;
%rename("$ignore", %$isclass) "";
%rename("$ignore", regextarget=1) "_slot|_array|^raw_view|^smd_step_file_|^smd_event_file_";
%ignore smd_error_new;
/* Native.evaluate() also calls rules that are written in Java, and returns findings with an
 * error. */
%ignore smd_rule_set_evaluate;

%pragma(java) jniclasscode=%{
  static {
    NativeLibrary.load();
  }
%}

/* ---- numbers ------------------------------------------------------------- */

%apply long long { int64_t, size_t };

%typemap(in, numinputs=0) int64_t *global_step_out (int64_t number = 0) "$1 = &number;"
%typemap(argout) int64_t *global_step_out, int64_t *out "$result = (jlong)*$1;"
%typemap(in, numinputs=0) int64_t *out (int64_t number = 0) "$1 = &number;"

%typemap(in, numinputs=0) uint32_t *parts_out (uint32_t parts = 0) "$1 = &parts;"
%typemap(argout) uint32_t *parts_out "$result = (jlong)*$1;"

%typemap(in, numinputs=0) smd_step_state *out (smd_step_state state = 0) "$1 = &state;"
%typemap(argout) smd_step_state *out "$result = (jlong)*$1;"

/* Encodes both in one number: the step times 8 plus the mode. */
%typemap(in, numinputs=0) smd_mode *mode_out (smd_mode mode = 0) "$1 = &mode;"
%typemap(in, numinputs=0) int64_t *step_out (int64_t number = 0) "$1 = &number;"
%typemap(argout) (int64_t *step_out, smd_mode *mode_out) "$result = (jlong)(*$1 * 8 + *$2);"

%typemap(jni) double *out "jdoubleArray"
%typemap(jtype) double *out "double[]"
%typemap(jstype) double *out "double[]"
%typemap(javain) double *out "$javainput"
%typemap(in) double *out (double number = 0) "$1 = &number;"
%typemap(argout) double *out {
  if (!(*jenv)->ExceptionCheck(jenv)) (*jenv)->SetDoubleArrayRegion(jenv, $input, 0, 1, $1);
}

%typemap(jni) (const int64_t *steps, size_t step_count) "jlongArray"
%typemap(jtype) (const int64_t *steps, size_t step_count) "long[]"
%typemap(jstype) (const int64_t *steps, size_t step_count) "long[]"
%typemap(javain) (const int64_t *steps, size_t step_count) "$javainput"
%typemap(in) (const int64_t *steps, size_t step_count) {
  $2 = (size_t)(*jenv)->GetArrayLength(jenv, $input);
  $1 = SmdJavaNumbers(jenv, $input);
  if ($1 == NULL) {
    $cleanup
    return $null;
  }
}
%typemap(freearg) (const int64_t *steps, size_t step_count) "free((void *)$1);"

/* ---- handles and errors -------------------------------------------------- */

%typemap(jni) SWIGTYPE *, SWIGTYPE ** "jlong"
%typemap(jtype) SWIGTYPE *, SWIGTYPE ** "long"
%typemap(jstype) SWIGTYPE *, SWIGTYPE ** "long"
%typemap(javain) SWIGTYPE *, SWIGTYPE ** "$javainput"
%typemap(javaout) SWIGTYPE *, SWIGTYPE ** { return $jnicall; }
%typemap(in) SWIGTYPE *, SWIGTYPE ** "$1 = ($1_ltype)(intptr_t)$input;"
%typemap(out) SWIGTYPE *, SWIGTYPE ** "$result = (jlong)(intptr_t)$1;"

%typemap(in, numinputs=0) SWIGTYPE **out (void *made = NULL) "$1 = ($1_ltype)&made;"
%typemap(argout) SWIGTYPE **out "$result = (jlong)(intptr_t)*$1;"
%typemap(out) struct smd_error *, smd_error * {
  if ($1 != NULL) SmdJavaThrow(jenv, $1);
  $result = 0;
}

/* ---- texts --------------------------------------------------------------- */

%typemap(jni) const char * "jbyteArray"
%typemap(jtype) const char * "byte[]"
%typemap(jstype) const char * "String"
%typemap(javain) const char * "Text.utf8($javainput)"
%typemap(javaout) const char * { return Text.string($jnicall); }
%typemap(in) const char * {
  $1 = SmdJavaText(jenv, $input);
  if ($1 == NULL && $input != NULL) {
    $cleanup
    return $null;
  }
}
%typemap(freearg) const char * "free((void *)$1);"
%typemap(out) const char * "$result = $1 == NULL ? NULL : SmdJavaBytes(jenv, $1, strlen($1));"
