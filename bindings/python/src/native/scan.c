/* Scans as Arrow streams. */
#include <stdlib.h>

#include "native.h"

static const char kCapsule[] = "arrow_array_stream";
static const char kSchemaCapsule[] = "arrow_schema";

/* A consumer that has taken the stream over has set its release to NULL. */
static void Destroy(PyObject *capsule) {
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, kCapsule);
  if (stream == NULL) {
    PyErr_Clear();
    return;
  }
  if (stream->release != NULL) stream->release(stream);
  free(stream);
}

static void DestroySchema(PyObject *capsule) {
  struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, kSchemaCapsule);
  if (schema == NULL) {
    PyErr_Clear();
    return;
  }
  if (schema->release != NULL) schema->release(schema);
  free(schema);
}

/* scan_schema(scan) -> a capsule with an ArrowSchema */
PyObject *SmdScanSchema(PyObject *Py_UNUSED(module), PyObject *owner) {
  smd_scan *scan = SmdNativePointer(owner, SMD_NATIVE_SCAN);
  struct ArrowSchema *schema;
  smd_error *error;
  PyObject *capsule;
  if (scan == NULL) return NULL;
  schema = calloc(1, sizeof(*schema));
  if (schema == NULL) return PyErr_NoMemory();
  error = smd_scan_schema(scan, schema);
  if (error != NULL) {
    free(schema);
    return SmdNativeRaise(error);
  }
  capsule = PyCapsule_New(schema, kSchemaCapsule, DestroySchema);
  if (capsule == NULL) {
    schema->release(schema);
    free(schema);
  }
  return capsule;
}

/* scan_columns(scan) -> [(name, format of the column, format of its items or "")] */
PyObject *SmdScanColumns(PyObject *Py_UNUSED(module), PyObject *owner) {
  smd_scan *scan = SmdNativePointer(owner, SMD_NATIVE_SCAN);
  struct ArrowSchema schema;
  smd_error *error;
  PyObject *list;
  if (scan == NULL) return NULL;
  error = smd_scan_schema(scan, &schema);
  if (error != NULL) return SmdNativeRaise(error);
  list = PyList_New((Py_ssize_t)schema.n_children);
  for (int64_t i = 0; list != NULL && i < schema.n_children; ++i) {
    const struct ArrowSchema *column = schema.children[i];
    const char *items = column->n_children == 0 ? "" : column->children[0]->format;
    PyObject *item = Py_BuildValue("sss", column->name, column->format, items);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  schema.release(&schema);
  return list;
}

/* scan_stream(scan) -> a capsule with an ArrowArrayStream */
PyObject *SmdScanStream(PyObject *Py_UNUSED(module), PyObject *owner) {
  smd_scan *scan = SmdNativePointer(owner, SMD_NATIVE_SCAN);
  struct ArrowArrayStream *stream;
  smd_error *error;
  PyObject *capsule;
  if (scan == NULL) return NULL;
  stream = calloc(1, sizeof(*stream));
  if (stream == NULL) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS
  error = smd_scan_open(scan, stream);
  Py_END_ALLOW_THREADS
  if (error != NULL) {
    free(stream);
    return SmdNativeRaise(error);
  }
  capsule = PyCapsule_New(stream, kCapsule, Destroy);
  if (capsule == NULL) {
    stream->release(stream);
    free(stream);
  }
  return capsule;
}

/* scan_partitions(scan) -> [(path, name, worker, first, end)] */
PyObject *SmdScanPartitions(PyObject *Py_UNUSED(module), PyObject *owner) {
  smd_scan *scan = SmdNativePointer(owner, SMD_NATIVE_SCAN);
  smd_partitions *parts = NULL;
  smd_error *error;
  PyObject *list;
  size_t count;
  if (scan == NULL) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = smd_scan_partitions(scan, &parts);
  Py_END_ALLOW_THREADS
  if (error != NULL) return SmdNativeRaise(error);
  count = smd_partitions_count(parts);
  list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    const smd_partition *part = smd_partitions_get(parts, i);
    PyObject *item = Py_BuildValue("sssLL", part->path, part->name, part->worker,
                                   (long long)part->first, (long long)part->end);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  smd_partitions_free(parts);
  return list;
}
