/* Passes log lines of the library to Python's logging.
 *
 * A line of a thread that Python knows is logged on that thread.  Other threads, such as the
 * library's writers, never wait for the interpreter lock, because the thread that holds it may be
 * waiting for them.  They queue their lines, and a worker thread logs those.  After SmdStopLog()
 * lines go to stderr. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "native.h"

/* How long an exiting or a closing thread waits for lines to be logged. */
static const time_t kPatienceSeconds = 2;

typedef struct Line {
  struct Line *next;
  smd_log_level level;
  char text[]; /* ends with NUL */
} Line;

/* A call of Python's function. */
typedef struct {
  smd_log_level level;
  const char *text;
  int is_queued;
} Entry;

static PyObject *log_line; /* log_line(level, text, is_queued); set before any line */

/* The mutex guards the rest.  No thread waits for the interpreter lock while it holds the mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static Line *queue;
static Line **queue_end = &queue;
static int has_worker;
static int is_working; /* the worker logs a line */
static int in_python;  /* how many threads log a line, the worker included */
static int is_stopped;
static smd_log_level stderr_level = SMD_LOG_WARNING;

static _Thread_local int depth; /* of calls of Python on this thread */

static void WriteToStderr(smd_log_level level, const char *text) {
  static const char *const names[] = {"", "error", "warning", "info", "debug"};
  if (level < SMD_LOG_ERROR || level > SMD_LOG_DEBUG || level > stderr_level) return;
  fprintf(stderr, "smdebug %s: %s\n", names[level], text);
}

/* ---- into Python ---------------------------------------------------------------- */

static void CallPython(void *argument) {
  const Entry *entry = argument;
  PyObject *message = PyUnicode_DecodeUTF8(entry->text, (Py_ssize_t)strlen(entry->text), "replace");
  PyObject *done = message == NULL ? NULL
                                   : PyObject_CallFunction(log_line, "iOi", (int)entry->level,
                                                           message, entry->is_queued);
  Py_XDECREF(message);
  Py_XDECREF(done);
  if (done != NULL) return;
  WriteToStderr(entry->level, entry->text);
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    PyErr_SetInterrupt(); /* raised again once the library has returned */
  } else {
    PyErr_WriteUnraisable(log_line);
  }
}

/* Logs a line and leaves `in_python`, which the caller has entered. */
static void Log(smd_log_level level, const char *text, int is_queued) {
  Entry entry = {level, text, is_queued};
  ++depth;
  SmdNativeWithLock(CallPython, &entry);
  --depth;
  pthread_mutex_lock(&mutex);
  --in_python;
  if (is_queued) is_working = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

/* ---- the queue ------------------------------------------------------------------ */

/* Logs the lines of the queue, and exits.  Lines are rare: no thread stays for them. */
static void *Work(void *unused) {
  pthread_mutex_lock(&mutex);
  while (queue != NULL && !is_stopped) {
    Line *line = queue;
    queue = line->next;
    if (queue == NULL) queue_end = &queue;
    is_working = 1;
    ++in_python;
    pthread_mutex_unlock(&mutex);
    Log(line->level, line->text, 1);
    free(line);
    pthread_mutex_lock(&mutex);
  }
  has_worker = 0;
  pthread_mutex_unlock(&mutex);
  return unused;
}

/* Starts the worker; the caller holds the mutex.  Returns 0 if there are no resources for it. */
static int StartWorker(void) {
  sigset_t all;
  sigset_t before;
  pthread_t thread;
  /* The program's signal handlers run on the program's threads. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_worker = pthread_create(&thread, NULL, Work, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (has_worker) pthread_detach(thread);
  return has_worker;
}

/* Returns 0 if the line cannot be queued. */
static int Enqueue(smd_log_level level, const char *text) {
  const size_t size = strlen(text) + 1;
  Line *line = malloc(sizeof *line + size);
  int is_queued;
  if (line == NULL) return 0;
  line->next = NULL;
  line->level = level;
  memcpy(line->text, text, size);
  pthread_mutex_lock(&mutex);
  is_queued = !is_stopped && (has_worker || StartWorker());
  if (is_queued) {
    *queue_end = line;
    queue_end = &line->next;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  if (!is_queued) free(line);
  return is_queued;
}

/* Waits until the queue is empty and, if `everywhere`, no thread logs a line.  The caller holds
 * the mutex, which is released meanwhile. */
static void AwaitIdle(int everywhere) {
  struct timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += kPatienceSeconds;
  while (queue != NULL || is_working || (everywhere && in_python > 0)) {
    if (pthread_cond_timedwait(&changed, &mutex, &deadline) != 0) return;
  }
}

/* ---- the log function ------------------------------------------------------------- */

static int EnterPython(void) {
  int may_enter;
  pthread_mutex_lock(&mutex);
  may_enter = !is_stopped;
  in_python += may_enter;
  pthread_mutex_unlock(&mutex);
  return may_enter;
}

void SmdNativeTakeLine(void *unused, smd_log_level level, const char *message) {
  (void)unused;
  if (PyGILState_GetThisThreadState() == NULL) {
    if (!Enqueue(level, message)) WriteToStderr(level, message);
  } else if (EnterPython()) {
    Log(level, message, 0);
  } else {
    WriteToStderr(level, message);
  }
}

/* flush_log(): waits, for 2 seconds at most, until queued lines are logged */
PyObject *SmdFlushLog(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  if (depth > 0) Py_RETURN_NONE; /* a log handler would wait for itself */
  Py_BEGIN_ALLOW_THREADS
  pthread_mutex_lock(&mutex);
  AwaitIdle(0);
  pthread_mutex_unlock(&mutex);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

/* stop_log(level): as flush_log(); from then on, lines up to `level` go to stderr.  Python is about
 * to exit. */
PyObject *SmdStopLog(PyObject *Py_UNUSED(module), PyObject *level) {
  const long number = PyLong_AsLong(level);
  if (number == -1 && PyErr_Occurred()) return NULL;
  Py_BEGIN_ALLOW_THREADS
  pthread_mutex_lock(&mutex);
  AwaitIdle(1);
  is_stopped = 1;
  stderr_level = (smd_log_level)number;
  while (queue != NULL) {
    Line *line = queue;
    queue = line->next;
    WriteToStderr(line->level, line->text);
    free(line);
  }
  queue_end = &queue;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

/* ---- start and fork ---------------------------------------------------------------- */

static void InitCondition(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void BeforeFork(void) { pthread_mutex_lock(&mutex); }

static void AfterForkInParent(void) { pthread_mutex_unlock(&mutex); }

/* The child has only the thread that forked.  The parent logs the lines of the queue. */
static void AfterForkInChild(void) {
  while (queue != NULL) {
    Line *line = queue;
    queue = line->next;
    free(line);
  }
  queue_end = &queue;
  has_worker = 0;
  is_working = 0;
  in_python = depth > 0;
  InitCondition();
  pthread_mutex_unlock(&mutex);
}

int SmdLogInit(PyObject *function) {
  PyObject *old = log_line;
  if (old == NULL) {
    InitCondition();
    if (pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild) != 0) {
      PyErr_NoMemory();
      return -1;
    }
  }
  log_line = Py_NewRef(function);
  Py_XDECREF(old);
  return 0;
}
