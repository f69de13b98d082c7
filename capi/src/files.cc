#include "smdebug/sys/files.h"

#include "analyze/event_stream.h"
#include "guard.h"
#include "record/step_writer.h"

using namespace smdebug;
using namespace smdebug::capi;

struct smd_step_file {
  std::unique_ptr<record::StepWriter> writer;
  ProcessMark mark = {};

  const ProcessMark &Mark() const { return mark; }
};

struct smd_event_file {
  analyze::EventStream stream;
  std::optional<analyze::ReadTensor> current;
  ProcessMark mark = {};

  const ProcessMark &Mark() const { return mark; }
  // Returns NULL if there is no current tensor.
  static const analyze::ReadTensor *CurrentOf(const smd_event_file *file) noexcept {
    return IsUsable(file) && file->current ? &*file->current : nullptr;
  }
};

smd_error *smd_step_file_open(const char *out_dir, int64_t step, const char *worker,
                              smd_step_file **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view folder, RequiredText(out_dir, "out_dir"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(worker, "worker"));
    SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store, storage::OpenStore(folder));
    return Give(record::StepWriter::Open(store, step, name), out);
  });
}

smd_error *smd_step_file_add_tensor(smd_step_file *file, const char *tensor,
                                    const smd_tensor_view *view, int64_t mode_step, smd_mode mode,
                                    double timestamp) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(file, "file"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return file->writer->AddTensor(name, checked, known, mode_step, timestamp);
  });
}

smd_error *smd_step_file_add_shape(smd_step_file *file, const char *tensor, const int64_t *shape,
                                   int32_t ndim, int64_t mode_step, smd_mode mode,
                                   const char *original_name) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(file, "file"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    if (ndim < 0 || ndim > SMD_MAX_RANK) {
      return InvalidArgument(StrCat("ndim is ", ndim, "; it must be from 0 to ", SMD_MAX_RANK));
    }
    if (ndim > 0) SMD_RETURN_IF_ERROR(NotNull(shape, "shape"));
    format::SavedShape saved{std::string(name), OptionalText(original_name), {shape, shape + ndim}};
    SMD_RETURN_IF_ERROR(tensor::CountElements(saved.shape).GetStatus());
    if (saved.original_name.empty()) saved.original_name = saved.name;
    return file->writer->AddShape(std::move(saved), known, mode_step);
  });
}

const char *smd_step_file_path(const smd_step_file *file) noexcept {
  return IsUsable(file) ? file->writer->Path().c_str() : "";
}

smd_error *smd_step_file_close(smd_step_file *file) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(file, "file"));
    return file->writer->Close();
  });
}

void smd_step_file_free(smd_step_file *file) noexcept { Free(file); }

smd_error *smd_event_file_open(const char *path, smd_event_file **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(path, "path"));
    SMD_ASSIGN_OR_RETURN(analyze::EventStream stream,
                         analyze::EventStream::Open(std::string(text)));
    *out = new smd_event_file{std::move(stream), {}, {}};
    return Status::Ok();
  });
}

smd_error *smd_event_file_next(smd_event_file *file, int32_t *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(file, "file"));
    file->current.reset();
    SMD_ASSIGN_OR_RETURN(file->current, file->stream.Next());
    *out = file->current ? 1 : 0;
    return Status::Ok();
  });
}

const char *smd_event_file_tensor(const smd_event_file *file) noexcept {
  const analyze::ReadTensor *current = smd_event_file::CurrentOf(file);
  return current == nullptr ? "" : current->name.c_str();
}

int64_t smd_event_file_step(const smd_event_file *file) noexcept {
  const analyze::ReadTensor *current = smd_event_file::CurrentOf(file);
  return current == nullptr ? -1 : current->context.step;
}

smd_mode smd_event_file_mode(const smd_event_file *file) noexcept {
  const analyze::ReadTensor *current = smd_event_file::CurrentOf(file);
  return current == nullptr ? SMD_MODE_GLOBAL : static_cast<smd_mode>(current->context.mode);
}

int64_t smd_event_file_mode_step(const smd_event_file *file) noexcept {
  const analyze::ReadTensor *current = smd_event_file::CurrentOf(file);
  return current == nullptr ? -1 : current->context.mode_step;
}

double smd_event_file_timestamp(const smd_event_file *file) noexcept {
  const analyze::ReadTensor *current = smd_event_file::CurrentOf(file);
  return current == nullptr ? 0 : current->context.wall_time;
}

smd_error *smd_event_file_value(const smd_event_file *file, smd_value **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(file, "file"));
    if (!file->current) return WrongState("there is no current tensor; move to the next first");
    *out = new smd_value{file->current->value};
    return Status::Ok();
  });
}

void smd_event_file_free(smd_event_file *file) noexcept { Free(file); }
