// Recording: a hook turns the tensors of a running job into a trial.
#ifndef SMDEBUG_CPP_HOOK_HPP
#define SMDEBUG_CPP_HOOK_HPP

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/lend.hpp"
#include "smdebug/cpp/options.hpp"
#include "smdebug/cpp/placement.hpp"
#include "smdebug/cpp/rule_set.hpp"
#include "smdebug/cpp/statistics.hpp"
#include "smdebug/cpp/step_guard.hpp"
#include "smdebug/cpp/view.hpp"
#include "smdebug/hook.h"
#include "smdebug/late.h"
#include "smdebug/metadata.h"

namespace smdebug {

// Any threads at once.  Destroying it frees it as smd_hook_free() does, without an end marker:
// Close() it, which can fail.
class Hook {
 public:
  // smd_hook_new().
  explicit Hook(const HookOptions &options)
      : Hook(detail::Make<Owner>(smd_hook_new, options.Get())) {}
  // Takes `hook`.
  explicit Hook(smd_hook *hook) : Hook(Owner(hook)) {}
  Hook(Hook &&) noexcept = default;
  Hook &operator=(Hook &&) noexcept = default;

  // Waits until all is written; a negative time: without end.  smd_hook_flush(), smd_hook_close().
  void Flush(std::chrono::milliseconds timeout = kWithoutEnd) {
    CheckKept(smd_hook_flush(Get(), detail::ToMilliseconds(timeout)));
  }
  void Close() { CheckKept(smd_hook_close(Get())); }

  // smd_hook_set_mode(), smd_hook_mode().
  void SetMode(smdebug::Mode to) { detail::Check(smd_hook_set_mode(Get(), smd_mode(to))); }
  smdebug::Mode Mode() const noexcept { return static_cast<smdebug::Mode>(smd_hook_mode(Get())); }

  // Begins the next step, of `mode` if it is given; it ends with the scope of the returned guard.
  // An exception that leaves the scope discards it.  smd_hook_set_mode(), smd_hook_begin_step().
  StepGuard Step() { return StepGuard(state_); }
  StepGuard Step(smdebug::Mode mode) {
    SetMode(mode);
    return Step();
  }

  // The same where no scope fits.  Returns the global step.  smd_hook_begin_step(),
  // smd_hook_end_step(), smd_hook_discard_step().
  int64_t BeginStep() {
    int64_t global_step = -1;
    detail::Check(smd_hook_begin_step(Get(), &global_step));
    return global_step;
  }
  void EndStep() { detail::Check(smd_hook_end_step(Get())); }
  void DiscardStep() { detail::Check(smd_hook_discard_step(Get())); }

  // The last step begun in `mode`, or -1.  smd_hook_last_step().
  int64_t LastStep(smdebug::Mode mode) const noexcept {
    return smd_hook_last_step(Get(), static_cast<smd_mode>(mode));
  }

  // Makes the open step save these collections too.  smd_hook_add_to_step().
  void AddToStep(const std::vector<std::string> &collections) {
    const detail::Strings names = detail::ToStrings(collections);
    detail::Check(smd_hook_add_to_step(Get(), names.get()));
  }

  // Whether the open step saves anything, or this tensor.  smd_hook_saves_step(), smd_hook_wants().
  bool SavesStep() const noexcept { return smd_hook_saves_step(Get()) != 0; }
  bool Wants(const CString &tensor) const noexcept {
    return smd_hook_wants(Get(), tensor.Get()) != 0;
  }

  // Saves a number, a std::vector, or any View; copied if the tensor is selected.  smd_hook_save().
  void Save(const CString &tensor, const View &view) {
    const smd_tensor_view c_view = view.ToC();
    detail::Check(smd_hook_save(Get(), tensor.Get(), &c_view));
  }
  template <class T>
  void Save(const CString &tensor, const T *data, const Shape &shape,
            const Shape &strides = Shape()) {
    Save(tensor, View(data, shape, strides));
  }

  // Saves texts; one dimension, unless `shape` is given.
  void SaveStrings(const CString &tensor, const std::vector<std::string> &texts) {
    SaveStrings(tensor, texts, Shape{static_cast<int64_t>(texts.size())});
  }
  void SaveStrings(const CString &tensor, const std::vector<std::string> &texts,
                   const Shape &shape) {
    detail::RequireCount(shape, texts.size());
    const std::vector<const char *> pointers = detail::ToPointers(texts);
    Save(tensor, View(DType::kString, pointers.data(), shape));
  }

  // Lends the memory of `view` until `release()` is called: once, on any thread, also when the
  // library refuses.  What it throws is lost.  smd_hook_save_owned().
  template <class Release>
  void SaveOwned(const CString &tensor, const View &view, Release release) {
    const smd_tensor_view c_view = view.ToC();
    void *lent = detail::Lend(std::move(release));
    detail::Check(
        smd_hook_save_owned(Get(), tensor.Get(), &c_view, detail::TakeBack<Release>, lent));
  }

  // Gives the elements away, not copied; a vector has one dimension, unless `shape` is given.
  template <class T>
  void SaveOwned(const CString &tensor, std::vector<T> &&elements) {
    SaveOwned(tensor, std::move(elements), Shape{static_cast<int64_t>(elements.size())});
  }
  template <class T>
  void SaveOwned(const CString &tensor, std::vector<T> &&elements, const Shape &shape) {
    detail::RequireCount(shape, elements.size());
    const View view(elements.data(), shape);
    SaveOwned(tensor, view, detail::Keeper<std::vector<T>>{std::move(elements)});
  }
  template <class T, class Delete>
  void SaveOwned(const CString &tensor, std::unique_ptr<T[], Delete> elements, const Shape &shape) {
    const View view(elements.get(), shape);
    SaveOwned(tensor, view, detail::Keeper<std::unique_ptr<T[], Delete>>{std::move(elements)});
  }
  template <class T>
  void SaveOwned(const CString &tensor, std::shared_ptr<T> elements, const Shape &shape) {
    const View view(elements.get(), shape);
    SaveOwned(tensor, view, detail::Keeper<std::shared_ptr<T>>{std::move(elements)});
  }

  // Gives a DLPack tensor away; its deleter is called once.  smd_hook_save_dlpack().
  void SaveDlpack(const CString &tensor, DLManagedTensorVersioned *dlpack) {
    detail::Check(smd_hook_save_dlpack(Get(), tensor.Get(), dlpack));
  }

  // Saves figures that the caller computed.  smd_hook_save_statistics().
  void SaveStatistics(const CString &tensor, const Statistics &statistics) {
    const smd_statistics c_statistics = statistics.ToC();
    detail::Check(smd_hook_save_statistics(Get(), tensor.Get(), &c_statistics));
  }

  // Expects a late tensor.  Returns SMD_WANTS_... and SMD_HAS_..., or 0.  smd_hook_expect().
  uint32_t Expect(const CString &tensor) {
    uint32_t parts = 0;
    detail::Check(smd_hook_expect(Get(), tensor.Get(), &parts));
    return parts;
  }

  // Save an expected tensor of a step that may have ended.  smd_hook_save_late(),
  // smd_hook_save_late_dlpack(), smd_hook_save_late_statistics().
  void SaveLate(const CString &tensor, int64_t global_step, const View &view) {
    const smd_tensor_view c_view = view.ToC();
    detail::Check(smd_hook_save_late(Get(), tensor.Get(), global_step, &c_view));
  }
  void SaveLateDlpack(const CString &tensor, int64_t global_step,
                      DLManagedTensorVersioned *dlpack) {
    detail::Check(smd_hook_save_late_dlpack(Get(), tensor.Get(), global_step, dlpack));
  }
  void SaveLateStatistics(const CString &tensor, int64_t global_step,
                          const Statistics &statistics) {
    const smd_statistics c_statistics = statistics.ToC();
    detail::Check(smd_hook_save_late_statistics(Get(), tensor.Get(), global_step, &c_statistics));
  }

  // Gives up an expected tensor.  smd_hook_forgo().
  void Forgo(const CString &tensor, int64_t global_step) {
    detail::Check(smd_hook_forgo(Get(), tensor.Get(), global_step));
  }

  // Records which part of a tensor this worker saves.  smd_hook_set_placement().
  void SetPlacement(const CString &tensor, const Placement &placement) {
    const smd_placement c_placement = placement.ToC();
    detail::Check(smd_hook_set_placement(Get(), tensor.Get(), &c_placement));
  }

  // smd_hook_set_metadata(), smd_hook_describe_run().
  void SetMetadata(const CString &key, const CString &value) {
    detail::Check(smd_hook_set_metadata(Get(), key.Get(), value.Get()));
  }
  void DescribeRun() { detail::Check(smd_hook_describe_run(Get())); }

  // Saves into the named collections; none: "default".  smd_hook_save_custom().
  void SaveCustom(const CString &tensor, const View &view,
                  const std::vector<std::string> &collections = {}) {
    const smd_tensor_view c_view = view.ToC();
    const detail::Strings list = detail::ToStrings(collections);
    detail::Check(smd_hook_save_custom(Get(), tensor.Get(), &c_view, list.get()));
  }

  // Saves a number as "scalar/<name>"; seconds since 1970, 0: now.  smd_hook_save_scalar().
  void SaveScalar(const CString &name, const View &number, double timestamp = 0) {
    const smd_tensor_view c_view = number.ToC();
    detail::Check(smd_hook_save_scalar(Get(), name.Get(), &c_view, timestamp));
  }

  // Shared with the hook.  smd_hook_collection(), smd_hook_ensure_collection(),
  // smd_hook_add_collection().
  smdebug::Collection Collection(const CString &name) {
    return detail::MakeObject<smdebug::Collection>(smd_hook_collection, Get(), name.Get());
  }
  smdebug::Collection EnsureCollection(const CString &name) {
    return detail::MakeObject<smdebug::Collection>(smd_hook_ensure_collection, Get(), name.Get());
  }
  void AddCollection(const smdebug::Collection &collection) {
    detail::Check(smd_hook_add_collection(Get(), collection.Get()));
  }

  // smd_hook_collections(), smd_hook_export_collections().
  std::vector<std::string> Collections() const {
    return detail::MakeVector<detail::Strings>(smd_hook_collections, Get());
  }
  void ExportCollections() { detail::Check(smd_hook_export_collections(Get())); }

  // Lets the rules evaluate every step from the next one on, as it ends; the most severe action of
  // the last step's findings; the findings since the last call.  smd_hook_attach(),
  // smd_hook_action(), smd_hook_take_findings().
  void Attach(const RuleSet &set) { detail::Check(smd_hook_attach(Get(), set.Get())); }
  Action LastAction() const noexcept { return static_cast<Action>(smd_hook_action(Get())); }
  std::vector<Finding> TakeFindings() {
    return detail::MakeVector<detail::FindingList>(smd_hook_take_findings, Get());
  }

  // smd_hook_is_recording(), smd_hook_count().
  bool IsRecording() const noexcept { return smd_hook_is_recording(Get()) != 0; }
  int64_t Count(const CString &name) const noexcept { return smd_hook_count(Get(), name.Get()); }

  smd_hook *Get() const noexcept { return detail::GetHook(state_); }

 private:
  using Owner = detail::Handle<smd_hook, smd_hook_free>;

  explicit Hook(Owner hook) : state_(std::make_shared<detail::HookState>(std::move(hook))) {}

  // Throws what a destructor met earlier, or else `error`.
  void CheckKept(smd_error *error) {
    detail::Check(state_ == nullptr ? error : state_->Take(error));
  }

  std::shared_ptr<detail::HookState> state_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_HOOK_HPP
