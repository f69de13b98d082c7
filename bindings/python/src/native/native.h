/* The Python-only part of the extension module: fast recording from buffers, and
 * values as buffers, arrays and DLPack tensors. */
#ifndef SMDEBUG_PYTHON_NATIVE_H
#define SMDEBUG_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "smdebug.h"

/* Of functions that run between the operations of a training: they lie side by side, since none of
 * their code is in the caches then, and each page costs. */
#define SMD_NATIVE_HOT __attribute__((hot))

/* ---- bridge to the SWIG part (native.i) ---------------------------------- */

typedef enum {
  SMD_NATIVE_ERROR,
  SMD_NATIVE_HOOK,
  SMD_NATIVE_INTEGERS,
  SMD_NATIVE_PROFILER,
  SMD_NATIVE_PROFILE_RULES,
  SMD_NATIVE_RULE_SET,
  SMD_NATIVE_SCAN,
  SMD_NATIVE_STRINGS,
  SMD_NATIVE_TENSOR,
  SMD_NATIVE_TEXT,
  SMD_NATIVE_TRIAL,
  SMD_NATIVE_VALUE,
  SMD_NATIVE_VIEW
} SmdNativeKind;

/* Returns the C pointer in a raw handle, or in an object whose `this` is one.  Sets TypeError
 * and returns NULL for any other object.  Borrowed. */
void *SmdNativePointer(PyObject *object, SmdNativeKind kind);

/* Returns a raw handle for a C pointer, which it does not own. */
PyObject *SmdNativeWrap(void *pointer, SmdNativeKind kind);

/* ---- shared.c: state that all parts use ----------------------------------- */

/* The two middle entries of a PyMethodDef. */
#define SMD_NATIVE_FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* Sets defaults, which apply until the package calls configure(). */
void SmdSharedInit(void);
PyObject *SmdConfigure(PyObject *module, PyObject *args);

/* Returns the Python exception for `error` and frees the error; returns NULL with another
 * exception set. */
PyObject *SmdNativeException(smd_error *error);

/* Sets the Python exception for `error` and frees the error.  Returns NULL. */
PyObject *SmdNativeRaise(smd_error *error);

/* Returns the exception class for invalid values.  Borrowed. */
PyObject *SmdNativeValueError(void);

/* Sets TypeError: `expected` names the type that `object` should have. */
void SmdNativeRefuse(const char *expected, PyObject *object);

/* Returns the strings as a list of str, and frees them. */
PyObject *SmdNativeList(smd_strings *strings);

/* Returns the mode number of a ModeKeys member (None: GLOBAL), or -1 with ValueError set. */
smd_mode SmdNativeMode(PyObject *mode);

/* Returns the numpy dtype of an element type.  Borrowed; NULL with an exception set. */
PyObject *SmdNativeDtype(smd_dtype dtype);

/* Returns the UTF-8 of a str without NULs, borrowed from it; NULL with an exception set. */
const char *SmdNativeName(PyObject *text);

/* Reads the number of a step.  Returns -1 with an exception set. */
int SmdNativeStep(PyObject *number, int64_t *step);

/* Returns true if a call has the expected number of arguments; sets TypeError otherwise. */
int SmdNativeHasCount(const char *function, Py_ssize_t count, Py_ssize_t expected);

/* Calls the function with the interpreter lock.  For calls by the library, from any thread that
 * Python knows.  If Python exits meanwhile, the thread sleeps until the process ends: CPython
 * would unwind the frames of the library, which aborts the process. */
void SmdNativeWithLock(void (*function)(void *), void *argument);

/* Like smd_hook_save, but releases the interpreter lock while it saves a large tensor. */
smd_error *SmdNativeSave(smd_hook *hook, const char *name, const smd_tensor_view *view);

/* ---- profiler.c: events of a timeline -------------------------------------- */

PyObject *SmdProfilerNow(PyObject *module, PyObject *profiler);
PyObject *SmdProfilerStep(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdProfilerEvent(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- loan.c: borrowed Python objects as tensor views ----------------------- */

typedef struct {
  smd_tensor_view view;
  Py_buffer buffer; /* held if buffer.obj is not NULL */
  union {
    double real;
    double complex_parts[2];
    int64_t integer;
    uint64_t natural;
    unsigned char truth;
  } scalar; /* the element, if the object is a Python number */
  int64_t shape[SMD_MAX_RANK];
  int64_t strides[SMD_MAX_RANK];
} SmdLoan;

/* Borrows a buffer or a Python number.  If `dtype` is not SMD_DTYPE_INVALID, the elements are
 * interpreted as `dtype`, which must have their size.  Returns 1 (return the buffer with
 * SmdLoanEnd), 0 if the object cannot be borrowed unchanged, -1 with an exception set. */
int SmdLoanBegin(SmdLoan *loan, PyObject *object, smd_dtype dtype);

void SmdLoanEnd(SmdLoan *loan);

/* ---- exchange.c ------------------------------------------------------------ */

typedef struct SmdExchange SmdExchange;

/* Returns the table of functions that all types of tensors in a tuple share; NULL if there is
 * none.  Borrowed: lives as long as the process.  Sets no exception. */
const SmdExchange *SmdExchangeOf(PyObject *types);

/* Describes the memory of a tensor of one of these types.  `dims` has room for two times
 * SMD_MAX_RANK numbers, which `view` borrows.  Returns 1; 0 if the memory is not the host's or the
 * element type is unknown; -1 with an exception set.  Does not tell whether the memory holds the
 * negated elements. */
int SmdExchangeView(const SmdExchange *exchange, PyObject *tensor, smd_tensor_view *view,
                    int64_t *dims);

/* A save of more bytes than this releases the interpreter lock, because the copy would make
 * other threads wait.  For fewer bytes, releasing the lock costs more than the save. */
enum { SMD_NATIVE_RELEASE_BYTES = 64 * 1024 };

/* ---- columns.c: columns of Arrow as Python objects -------------------------- */

PyObject *SmdColumnTexts(PyObject *module, PyObject *address);
PyObject *SmdColumnWholes(PyObject *module, PyObject *address);
PyObject *SmdColumnObjects(PyObject *module, PyObject *args);
PyObject *SmdColumnFind(PyObject *module, PyObject *args);
PyObject *SmdTimeTexts(PyObject *module, PyObject *buffer);

/* ---- placement.c ----------------------------------------------------------- */

PyObject *SmdSetPlacement(PyObject *module, PyObject *args);
PyObject *SmdReadPlacement(PyObject *module, PyObject *args);

/* ---- scan.c ---------------------------------------------------------------- */

PyObject *SmdScanColumns(PyObject *module, PyObject *owner);
PyObject *SmdScanSchema(PyObject *module, PyObject *owner);
PyObject *SmdScanStream(PyObject *module, PyObject *owner);
PyObject *SmdScanPartitions(PyObject *module, PyObject *owner);

/* ---- statistics.c ---------------------------------------------------------- */

PyObject *SmdSaveStatistics(PyObject *module, PyObject *args);
PyObject *SmdSaveLateStatistics(PyObject *module, PyObject *args);
PyObject *SmdSaveLateRows(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- late.c: late tensors --------------------------------------------------- */

PyObject *SmdExpect(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdSaveLate(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdSaveLateDlpack(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdForgo(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- view.c: borrowed buffers as Python objects ---------------------------- */

int SmdViewInit(PyObject *module);
PyObject *SmdLend(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdLendText(PyObject *module, PyObject *args);
PyObject *SmdLendDlpack(PyObject *module, PyObject *capsule);

/* ---- saver.c: PyTorch tensors in host memory ------------------------------ */

int SmdSaverInit(PyObject *module);
PyObject *SmdSaver(PyObject *module, PyObject *args);
PyObject *SmdTakeNumber(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdModulesHold(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- rules.c: rule sets ---------------------------------------------------- */

PyObject *SmdTakeFindings(PyObject *module, PyObject *hook);
PyObject *SmdRuleResults(PyObject *module, PyObject *set);
PyObject *SmdDiagnose(PyObject *module, PyObject *set);
PyObject *SmdDiagnosisSeen(PyObject *module, PyObject *set);
PyObject *SmdBuiltinRules(PyObject *module, PyObject *unused);
PyObject *SmdProfileFindings(PyObject *module, PyObject *rules);
PyObject *SmdProfileResults(PyObject *module, PyObject *rules);
PyObject *SmdProfilePhases(PyObject *module, PyObject *rules);
PyObject *SmdProfileRules(PyObject *module, PyObject *unused);
PyObject *SmdEvaluate(PyObject *module, PyObject *args);
PyObject *SmdAddFunction(PyObject *module, PyObject *args);

/* ---- log.c: log lines ------------------------------------------------------- */

/* Sets the function log_line(level, text, is_queued).  Returns -1 with an exception set. */
int SmdLogInit(PyObject *function);

/* Passes a line to that function; a smd_log_fn. */
void SmdNativeTakeLine(void *unused, smd_log_level level, const char *message);

PyObject *SmdFlushLog(PyObject *module, PyObject *unused);
PyObject *SmdStopLog(PyObject *module, PyObject *level);

/* ---- value.c: read values ------------------------------------------------- */

int SmdValueInit(PyObject *module);

/* Returns a Value object; takes ownership of `value`, also if it fails. */
PyObject *SmdValueNew(smd_value *value, int writable);

/* Returns the value as a numpy array, strings too; takes ownership of `value`.  The array is
 * writable, so nobody else may use the value.  If `run` is not 0, the array holds that many
 * values, which follow each other as smd_values_run() says. */
PyObject *SmdValueToArray(smd_value *value, Py_ssize_t run);

/* ---- values.c: many values ------------------------------------------------- */

PyObject *SmdReadValues(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdReadReductions(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- dlpack.c -------------------------------------------------------------- */

/* Returns a DLPack capsule of the elements: versioned if `major` >= 1, else in the old form. */
PyObject *SmdDlpackExport(const smd_value *value, long major);

/* Fills a view from the tensor in a DLPack capsule, and copies its dimensions to `dims`, which
 * has room for 2 * SMD_MAX_RANK.  The capsule is not consumed.  Returns -1 with an exception
 * set: BufferError if the tensor is not in host memory or has an unknown type. */
int SmdDlpackView(PyObject *capsule, smd_tensor_view *view, int64_t *dims);

/* ---- module.c -------------------------------------------------------------- */

/* Adds functions and types to the module.  Returns -1 with an exception set. */
int SmdNativeInit(PyObject *module);

#endif /* SMDEBUG_PYTHON_NATIVE_H */
