/* Scans of trials as Arrow streams. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { kSteps = 20 };

static void record(const char *folder) {
  const float data[2] = {1, 2};
  const int64_t shape[1] = {2};
  smd_hook *hook = open_hook(folder);
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = data;
  view.shape = shape;
  view.ndim = 1;
  view.dtype = SMD_FLOAT32;
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_OK(smd_hook_begin_step(hook, NULL));
    EXPECT_OK(smd_hook_save(hook, "w", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
}

static smd_scan *scan_of(const char *table, const char *path) {
  smd_scan *scan = NULL;
  EXPECT_OK(smd_scan_new(table, &scan));
  EXPECT_OK(smd_scan_add(scan, "path", path));
  return scan;
}

static int64_t count_rows(struct ArrowArrayStream *stream) {
  int64_t rows = 0;
  struct ArrowArray batch;
  for (;;) {
    EXPECT(stream->get_next(stream, &batch) == 0);
    if (batch.release == NULL) return rows;
    EXPECT(batch.n_children > 0 && batch.children[0]->length == batch.length);
    rows += batch.length;
    batch.release(&batch);
    EXPECT(batch.release == NULL);
  }
}

static void reads_rows(const char *folder) {
  smd_scan *scan = scan_of("tensors", folder);
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  EXPECT_OK(smd_scan_add(scan, "column", "tensor"));
  EXPECT_OK(smd_scan_add(scan, "column", "value"));
  EXPECT_OK(smd_scan_open(scan, &stream));
  smd_scan_free(scan); /* the stream outlives it */
  EXPECT(stream.get_schema(&stream, &schema) == 0);
  EXPECT(strcmp(schema.format, "+s") == 0 && schema.n_children == 2);
  EXPECT(strcmp(schema.children[0]->name, "tensor") == 0);
  EXPECT(strcmp(schema.children[0]->format, "u") == 0);
  EXPECT(strcmp(schema.children[1]->format, "+l") == 0);
  EXPECT(strcmp(schema.children[1]->children[0]->format, "g") == 0);
  schema.release(&schema);
  EXPECT(count_rows(&stream) == kSteps);
  EXPECT(count_rows(&stream) == 0);
  stream.release(&stream);
  EXPECT(stream.release == NULL);
}

/* A consumer may take a column out of its batch, and keep it after the stream has ended. */
static void columns_outlive_their_batch(const char *folder) {
  smd_scan *scan = scan_of("tensors", folder);
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct ArrowArray values;
  const double *numbers;
  EXPECT_OK(smd_scan_add(scan, "column", "tensor"));
  EXPECT_OK(smd_scan_add(scan, "column", "value"));
  EXPECT_OK(smd_scan_open(scan, &stream));
  smd_scan_free(scan);
  EXPECT(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
  values = *batch.children[1];
  batch.children[1]->release = NULL;
  batch.release(&batch);
  stream.release(&stream);
  numbers = values.children[0]->buffers[1];
  EXPECT(numbers[0] == 1 && numbers[1] == 2);
  values.release(&values);
}

static void divides_into_partitions(const char *folder) {
  smd_scan *scan = scan_of("tensors", folder);
  smd_partitions *list = NULL;
  EXPECT_OK(smd_scan_partitions(scan, &list));
  EXPECT(smd_partitions_count(list) == 1);
  EXPECT(smd_partitions_get(list, 0)->struct_size == sizeof(smd_partition));
  EXPECT(strcmp(smd_partitions_get(list, 0)->path, folder) == 0);
  EXPECT(strcmp(smd_partitions_get(list, 0)->worker, "worker_0") == 0);
  EXPECT(smd_partitions_get(list, 0)->first == 0 && smd_partitions_get(list, 0)->end == 1000);
  EXPECT(smd_partitions_get(list, 1) == NULL);
  smd_partitions_free(list);
  smd_scan_free(scan);
}

static void refuses_what_is_wrong(const char *folder) {
  smd_scan *scan = NULL;
  struct ArrowArrayStream stream;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_scan_new("tables", &scan));
  EXPECT(scan == NULL);
  EXPECT_OK(smd_scan_new("trials", &scan));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_scan_open(scan, &stream));
  EXPECT(stream.release == NULL);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_scan_add(scan, "column", "loss"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_scan_add(scan, "colour", "red"));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_scan_add(scan, "trial", "("));
  EXPECT_OK(smd_scan_add(scan, "path", folder));
  EXPECT_OK(smd_scan_add(scan, "path", "/nowhere/at/all"));
  EXPECT_CODE(SMD_NOT_FOUND, smd_scan_open(scan, &stream));
  smd_scan_free(scan);
}

static void stream_is_of_one_process(const char *folder) {
  smd_scan *scan = scan_of("trials", folder);
  struct ArrowArrayStream stream;
  int status = 0;
  EXPECT_OK(smd_scan_open(scan, &stream));
  const pid_t child = fork();
  if (child == 0) {
    struct ArrowArray batch;
    EXPECT(stream.get_next(&stream, &batch) == EINVAL);
    EXPECT(strstr(stream.get_last_error(&stream), "fork") != NULL);
    stream.release(&stream);
    EXPECT(stream.release == NULL);
    /* A scan is plain data. */
    EXPECT_OK(smd_scan_open(scan, &stream));
    EXPECT(count_rows(&stream) == 1);
    stream.release(&stream);
    smd_scan_free(scan);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(count_rows(&stream) == 1);
  stream.release(&stream);
  smd_scan_free(scan);
}

int main(void) {
  char parent[] = "/tmp/smdebug-scan-XXXXXX";
  char folder[64];
  char removal[96];
  EXPECT(mkdtemp(parent) != NULL);
  snprintf(folder, sizeof folder, "%s/run", parent);
  record(folder);
  reads_rows(folder);
  columns_outlive_their_batch(folder);
  divides_into_partitions(folder);
  refuses_what_is_wrong(folder);
  stream_is_of_one_process(folder);
  snprintf(removal, sizeof removal, "rm -r %s", parent);
  return system(removal) == 0 ? 0 : 1;
}
