#include "arrow_stream.h"

#include <array>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/status.h"

namespace smdebug::capi {
namespace {

using tables::Batch;
using tables::Column;
using tables::ColumnSpec;
using tables::ColumnType;

bool IsList(ColumnType type) {
  return type == ColumnType::kIntegers || type == ColumnType::kNumbers;
}

const char *FormatOf(ColumnType type) {
  switch (type) {
    case ColumnType::kText: return "u";
    case ColumnType::kCodes: return "i";
    case ColumnType::kInteger: return "l";
    case ColumnType::kNumber: return "g";
    case ColumnType::kTime: return "tsu:";
    case ColumnType::kBytes: return "z";
    default: return "+l";
  }
}

// What a schema or an array points to.  A consumer may move children out of their parent, so each
// has an owner of its own.
template <class T>
struct Owner {
  std::vector<T> children;
  std::vector<T *> pointers;
  std::unique_ptr<T> dictionary;
  std::shared_ptr<const Batch> batch;
  std::array<const void *, 3> buffers{};

  void PointToChildren() {
    for (T &child : children) pointers.push_back(&child);
  }
};

template <class T>
void Release(T *exported) {
  auto *const owner = static_cast<Owner<T> *>(exported->private_data);
  for (T &child : owner->children) {
    if (child.release != nullptr) child.release(&child);
  }
  T *const dictionary = owner->dictionary.get();
  if (dictionary != nullptr && dictionary->release != nullptr) dictionary->release(dictionary);
  exported->release = nullptr;
  delete owner;
}

// Gives `exported` its owner.
template <class T>
void Own(std::unique_ptr<Owner<T>> owner, T *exported) {
  owner->PointToChildren();
  exported->n_children = static_cast<int64_t>(owner->children.size());
  exported->children = owner->pointers.empty() ? nullptr : owner->pointers.data();
  exported->dictionary = owner->dictionary.get();
  exported->release = Release<T>;
  exported->private_data = owner.release();
}

void ExportField(const char *format, const char *name, std::vector<ArrowSchema> children,
                 ArrowSchema *out, std::unique_ptr<ArrowSchema> dictionary = nullptr) {
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  owner->children = std::move(children);
  owner->dictionary = std::move(dictionary);
  *out = {format, name, nullptr, ARROW_FLAG_NULLABLE, 0, nullptr, nullptr, nullptr, nullptr};
  Own(std::move(owner), out);
}

}  // namespace

// If memory runs out, children that were made are lost; they are small and this is rare.
void ExportSchema(const std::vector<ColumnSpec> &columns, ArrowSchema *out) {
  std::vector<ArrowSchema> fields(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<ArrowSchema> items;
    if (IsList(columns[i].type)) {
      const bool is_whole = columns[i].type == ColumnType::kIntegers;
      ExportField(is_whole ? "l" : "g", "item", {}, &items.emplace_back());
    }
    std::unique_ptr<ArrowSchema> texts;
    if (columns[i].type == ColumnType::kCodes) {
      texts = std::make_unique<ArrowSchema>();
      ExportField(FormatOf(ColumnType::kText), "", {}, texts.get());
    }
    // The names are literals, hence NUL-terminated.
    ExportField(FormatOf(columns[i].type), columns[i].name.data(), std::move(items), &fields[i],
                std::move(texts));
  }
  ExportField("+s", "", std::move(fields), out);
  out->flags = 0;
}

namespace {

struct Buffers {
  int64_t count;
  const void *second = nullptr;
  const void *third = nullptr;
};

void ExportArray(size_t length, size_t nulls, const void *validity, Buffers buffers,
                 std::vector<ArrowArray> children, const std::shared_ptr<const Batch> &batch,
                 ArrowArray *out, std::unique_ptr<ArrowArray> dictionary = nullptr) {
  auto owner = std::make_unique<Owner<ArrowArray>>();
  owner->children = std::move(children);
  owner->dictionary = std::move(dictionary);
  owner->batch = batch;
  owner->buffers = {validity, buffers.second, buffers.third};
  *out = {};
  out->length = static_cast<int64_t>(length);
  out->null_count = static_cast<int64_t>(nulls);
  out->n_buffers = buffers.count;
  out->buffers = owner->buffers.data();
  Own(std::move(owner), out);
}

void ExportColumn(const Column &column, const std::shared_ptr<const Batch> &batch,
                  ArrowArray *out) {
  const void *validity = column.Nulls() == 0 ? nullptr : column.Validity().data();
  std::vector<ArrowArray> items;
  Buffers buffers{2, column.Data()};
  if (IsList(column.Type())) {
    ExportArray(column.Elements(), 0, nullptr, {2, column.Data()}, {}, batch,
                &items.emplace_back());
    buffers = {2, column.Offsets().data()};
  } else if (column.Type() == ColumnType::kText || column.Type() == ColumnType::kBytes) {
    buffers = {3, column.Offsets().data(), column.Data()};
  }
  std::unique_ptr<ArrowArray> texts;
  if (column.Type() == ColumnType::kCodes) {
    texts = std::make_unique<ArrowArray>();
    ExportArray(column.Offsets().size() - 1, 0, nullptr,
                {3, column.Offsets().data(), column.Texts()}, {}, batch, texts.get());
  }
  ExportArray(column.Rows(), column.Nulls(), validity, buffers, std::move(items), batch, out,
              std::move(texts));
}

void ExportBatch(Batch rows, ArrowArray *out) {
  const auto batch = std::make_shared<const Batch>(std::move(rows));
  std::vector<ArrowArray> columns(batch->columns.size());
  for (size_t i = 0; i < columns.size(); ++i) ExportColumn(batch->columns[i], batch, &columns[i]);
  ExportArray(batch->rows, 0, nullptr, {1}, std::move(columns), batch, out);
}

// The state of a stream.
struct Rows {
  std::unique_ptr<tables::BatchStream> stream;
  ProcessMark mark;
  std::string error;
};

Rows &RowsOf(ArrowArrayStream *stream) { return *static_cast<Rows *>(stream->private_data); }

int ErrorNumberOf(const Status &status) {
  switch (status.GetCode()) {
    case Code::kInvalidArgument:
    case Code::kInvalidConfig:
    case Code::kAfterFork: return EINVAL;
    case Code::kOutOfMemory: return ENOMEM;
    case Code::kNotFound: return ENOENT;
    case Code::kPermission: return EACCES;
    default: return EIO;
  }
}

// Runs `body`, which returns a Status; the stream keeps its message.
template <class Body>
int GuardStream(ArrowArrayStream *stream, Body body) noexcept {
  try {
    Status status = RowsOf(stream).mark.Check();
    if (status.IsOk()) status = body(RowsOf(stream));
    if (status.IsOk()) return 0;
    RowsOf(stream).error = status.Message();
    return ErrorNumberOf(status);
  } catch (const std::bad_alloc &) {
    RowsOf(stream).error.clear();
    return ENOMEM;
  } catch (const std::exception &) {
    RowsOf(stream).error.clear();
    return EIO;
  }
}

int GetSchema(ArrowArrayStream *stream, ArrowSchema *out) {
  return GuardStream(stream, [out](Rows &rows) {
    ExportSchema(rows.stream->Schema(), out);
    return Status::Ok();
  });
}

int GetNext(ArrowArrayStream *stream, ArrowArray *out) {
  return GuardStream(stream, [out](Rows &rows) -> Status {
    *out = {};  // the end, and after a failure nothing to release
    auto batch = rows.stream->Next();
    if (!batch.IsOk()) return batch.GetStatus();
    if (*batch) ExportBatch(std::move(**batch), out);
    return Status::Ok();
  });
}

const char *GetLastError(ArrowArrayStream *stream) {
  const Rows &rows = RowsOf(stream);
  return rows.error.empty() ? nullptr : rows.error.c_str();
}

// In a forked child, the threads of the stream's requests do not exist.
void ReleaseStream(ArrowArrayStream *stream) {
  if (RowsOf(stream).mark.IsSameProcess()) delete &RowsOf(stream);
  stream->release = nullptr;
}

}  // namespace

void ExportStream(std::unique_ptr<tables::BatchStream> rows, ArrowArrayStream *out) {
  auto *const state = new Rows{std::move(rows), {}, {}};
  *out = {GetSchema, GetNext, GetLastError, ReleaseStream, state};
}

}  // namespace smdebug::capi
