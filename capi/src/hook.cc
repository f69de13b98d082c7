#include "smdebug/hook.h"

#include "base/deferral.h"
#include "guard.h"
#include "inputs.h"
#include "tables/row_file_writer.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

Status CheckHook(const smd_hook *hook) { return CheckUsable(hook, "hook"); }

// Releases the memory at its end, unless that was shared.
class ReleaseOwner final : public record::Owner {
 public:
  ReleaseOwner(smd_release_fn release, void *user_data)
      : release_(release), user_data_(user_data) {}
  ~ReleaseOwner() override {
    if (release_ != nullptr) release_(user_data_);
  }
  std::shared_ptr<const void> Share() override {
    if (shared_) return shared_;
    auto call = ReleaseCall(release_, user_data_);
    // The hook's lock is held: the destructor releases the memory after it.
    if (!call) throw std::bad_alloc();
    release_ = nullptr;
    shared_ = OwnerOf(std::move(call));
    return shared_;
  }

 private:
  smd_release_fn release_;
  void *const user_data_;
  std::shared_ptr<const void> shared_;
};

}  // namespace

smd_error *smd_hook_new(const smd_hook_options *options, smd_hook **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(options->CheckCollections());
    record::HookOptions opened = options->options;
    opened.make_listener = [](record::HookOptions::Put put) {
      return std::make_shared<tables::RowFileWriter>(std::move(put));
    };
    return Give(record::Hook::Open(std::move(opened)), out);
  });
}

smd_error *smd_hook_flush(smd_hook *hook, int32_t timeout_ms) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    return hook->hook->Flush(DeadlineFromC(hook->hook->GetClock(), timeout_ms));
  });
}

smd_error *smd_hook_close(smd_hook *hook) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    return hook->hook->Close();
  });
}

void smd_hook_free(smd_hook *hook) noexcept { Free(hook); }

smd_error *smd_hook_set_mode(smd_hook *hook, smd_mode mode) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return hook->hook->SetMode(known);
  });
}

smd_mode smd_hook_mode(const smd_hook *hook) noexcept {
  return IsUsable(hook) ? static_cast<smd_mode>(hook->hook->GetMode()) : SMD_MODE_GLOBAL;
}

smd_error *smd_hook_begin_step(smd_hook *hook, int64_t *global_step_out) noexcept {
  return Guard([&]() -> Status {
    if (global_step_out != nullptr) *global_step_out = 0;
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const int64_t begun, hook->hook->BeginStep());
    if (global_step_out != nullptr) *global_step_out = begun;
    return Status::Ok();
  });
}

smd_error *smd_hook_end_step(smd_hook *hook) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    return hook->hook->EndStep();
  });
}

smd_error *smd_hook_discard_step(smd_hook *hook) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    return hook->hook->DiscardStep();
  });
}

smd_error *smd_hook_add_to_step(smd_hook *hook, const smd_strings *collections) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_RETURN_IF_ERROR(NotNull(collections, "collections"));
    return hook->hook->AddToStep(collections->items);
  });
}

int64_t smd_hook_last_step(const smd_hook *hook, smd_mode mode) noexcept {
  const std::optional<Mode> known = ModeFromNumber(mode);
  return IsUsable(hook) && known ? hook->hook->LastStep(*known) : -1;
}

int32_t smd_hook_saves_step(const smd_hook *hook) noexcept {
  return IsUsable(hook) && hook->hook->SavesStep() ? 1 : 0;
}

int32_t smd_hook_wants(const smd_hook *hook, const char *tensor) noexcept {
  if (!IsUsable(hook) || tensor == nullptr) return 0;
  return GuardValue(0, [&] { return hook->hook->Wants(tensor) ? 1 : 0; });
}

smd_error *smd_hook_save(smd_hook *hook, const char *tensor, const smd_tensor_view *view) noexcept {
  return GuardSaving(hook, [&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    return hook->hook->Save(name, checked);
  });
}

smd_error *smd_hook_save_owned(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                               smd_release_fn release, void *user_data) noexcept {
  return GuardSaving(hook, [&]() -> Status {
    // Before any check: the memory is released however this ends.
    ReleaseOwner owner(release, user_data);
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    return hook->hook->Save(name, checked, &owner);
  });
}

smd_error *smd_hook_save_dlpack(smd_hook *hook, const char *tensor,
                                DLManagedTensorVersioned *dlpack) noexcept {
  return GuardSaving(hook, [&]() -> Status {
    const std::shared_ptr<const HeldDlpack> owner = HoldDlpack(dlpack);
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View view, owner->tensor.AsView());
    return hook->hook->Save(name, view, owner);
  });
}

smd_error *smd_hook_save_custom(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                                const smd_strings *collections) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    const std::vector<std::string> none;
    return hook->hook->SaveCustom(name, checked,
                                  collections == nullptr ? none : collections->items);
  });
}

smd_error *smd_hook_save_scalar(smd_hook *hook, const char *name, const smd_tensor_view *view,
                                double timestamp) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(const tensor::View checked, ViewFromC(view));
    return hook->hook->SaveScalar(text, checked, timestamp);
  });
}

smd_error *smd_hook_collection(smd_hook *hook, const char *name, smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    const config::CollectionPtr found = hook->hook->Collections().Find(text);
    if (!found) return Status(Code::kNotFound, StrCat("the hook has no collection '", text, "'"));
    *out = new smd_collection{found};
    return Status::Ok();
  });
}

smd_error *smd_hook_ensure_collection(smd_hook *hook, const char *name,
                                      smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    *out = new smd_collection{hook->hook->Collections().GetOrCreate(text)};
    return Status::Ok();
  });
}

smd_error *smd_hook_add_collection(smd_hook *hook, smd_collection *collection) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    hook->hook->Collections().Add(collection->collection);
    return Status::Ok();
  });
}

smd_error *smd_hook_collections(const smd_hook *hook, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    auto names = std::make_unique<smd_strings>();
    for (const config::CollectionPtr &collection : hook->hook->Collections().List()) {
      names->items.push_back(collection->Name());
    }
    *out = names.release();
    return Status::Ok();
  });
}

smd_error *smd_hook_export_collections(smd_hook *hook) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckHook(hook));
    return hook->hook->ExportCollections();
  });
}

int32_t smd_hook_is_recording(const smd_hook *hook) noexcept {
  return IsUsable(hook) && hook->hook->IsRecording() ? 1 : 0;
}

int64_t smd_hook_count(const smd_hook *hook, const char *name) noexcept {
  if (!IsUsable(hook) || name == nullptr) return -1;
  return GuardValue<int64_t>(-1, [&]() -> int64_t {
    const std::string_view wanted(name);
    if (wanted == "selections") return hook->hook->Selections();
    const record::QueueCounts counts = hook->hook->Counts();
    if (wanted == "steps_written") return counts.steps_written;
    if (wanted == "steps_dropped") return counts.steps_dropped;
    if (wanted == "steps_failed") return counts.steps_failed;
    if (wanted == "tensors_written") return counts.tensors_written;
    if (wanted == "bytes_written") return counts.bytes_written;
    if (wanted == "bytes_queued") return counts.bytes_queued;
    return -1;
  });
}
