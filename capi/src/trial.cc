#include "smdebug/trial.h"

#include "analyze/tensorboard_export.h"
#include "guard.h"
#include "log_sink.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

Status CheckTrial(const smd_trial *trial) { return CheckUsable(trial, "trial"); }

Result<std::shared_ptr<analyze::Trial>> MakeTrial(const char *path,
                                                  const smd_trial_options *options) {
  SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(path, "path"));
  if (options != nullptr) return analyze::Trial::Make(text, options->options);
  SMD_ASSIGN_OR_RETURN(analyze::TrialOptions defaults, analyze::TrialOptions::FromEnvironment());
  return analyze::Trial::Make(text, std::move(defaults));
}

}  // namespace

// ---- options -----------------------------------------------------------------------------

smd_error *smd_trial_options_new(smd_trial_options **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    return Give(analyze::TrialOptions::FromEnvironment(), out);
  });
}

smd_error *smd_trial_options_set(smd_trial_options *options, const char *name,
                                 const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    return options->options.Set(option, value);
  });
}

smd_error *smd_trial_options_set_log(smd_trial_options *options, smd_log_level level,
                                     smd_log_fn log, void *user_data,
                                     smd_release_fn destroy) noexcept {
  return Guard([&]() -> Status {
    SMD_ASSIGN_OR_RETURN(Logger logger, LoggerFromC(level, log, user_data, destroy));
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    options->options.logger = std::move(logger);
    return Status::Ok();
  });
}

void smd_trial_options_free(smd_trial_options *options) noexcept { delete options; }

// ---- life --------------------------------------------------------------------------------

smd_error *smd_trial_new(const char *path, const smd_trial_options *options,
                         smd_trial **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    return Give(MakeTrial(path, options), out);
  });
}

smd_error *smd_trial_load(smd_trial *trial) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    return trial->trial->Load();
  });
}

smd_error *smd_trial_open(const char *path, const smd_trial_options *options,
                          smd_trial **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(std::shared_ptr<analyze::Trial> trial, MakeTrial(path, options));
    SMD_RETURN_IF_ERROR(trial->Load());
    *out = new smd_trial{std::move(trial)};
    return Status::Ok();
  });
}

void smd_trial_cancel(smd_trial *trial) noexcept {
  if (IsUsable(trial)) trial->trial->Cancel();
}

void smd_trial_free(smd_trial *trial) noexcept { Free(trial); }

const char *smd_trial_path(const smd_trial *trial) noexcept {
  return IsUsable(trial) ? trial->trial->Path().c_str() : "";
}

const char *smd_trial_name(const smd_trial *trial) noexcept {
  return IsUsable(trial) ? trial->trial->Name().c_str() : "";
}

smd_error *smd_trial_refresh(smd_trial *trial) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    return trial->trial->Refresh();
  });
}

int32_t smd_trial_set_auto_refresh(smd_trial *trial, int32_t on) noexcept {
  return IsUsable(trial) && trial->trial->SetAutoRefresh(on != 0) ? 1 : 0;
}

int32_t smd_trial_has_ended(const smd_trial *trial) noexcept {
  return IsUsable(trial) && trial->trial->HasEnded() ? 1 : 0;
}

int64_t smd_trial_last_complete_step(const smd_trial *trial) noexcept {
  return IsUsable(trial) ? trial->trial->LastCompleteStep() : -1;
}

// ---- steps -------------------------------------------------------------------------------

smd_error *smd_trial_steps(smd_trial *trial, smd_mode mode, int32_t incomplete_too,
                           smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(trial->trial->Steps(known, incomplete_too != 0), out);
  });
}

smd_error *smd_trial_modes(smd_trial *trial, smd_integers **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const std::vector<Mode> modes, trial->trial->Modes());
    auto numbers = std::make_unique<smd_integers>();
    for (const Mode mode : modes) numbers->items.push_back(static_cast<int64_t>(mode));
    *out = numbers.release();
    return Status::Ok();
  });
}

smd_error *smd_trial_mode_step(smd_trial *trial, int64_t global_step, int64_t *step_out,
                               smd_mode *mode_out) noexcept {
  return Guard([&]() -> Status {
    ClearOuts(step_out, mode_out);
    SMD_RETURN_IF_ERROR(NotNull(step_out, "step_out"));
    SMD_RETURN_IF_ERROR(NotNull(mode_out, "mode_out"));
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const auto found, trial->trial->ModeStepOf(global_step));
    *step_out = found ? found->step : -1;
    *mode_out = found ? static_cast<smd_mode>(found->mode) : SMD_MODE_ANY;
    return Status::Ok();
  });
}

smd_error *smd_trial_global_step(smd_trial *trial, int64_t mode_step, smd_mode mode,
                                 int64_t *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    SMD_ASSIGN_OR_RETURN(const auto found, trial->trial->GlobalStepOf(known, mode_step));
    *out = found.value_or(-1);
    return Status::Ok();
  });
}

smd_error *smd_trial_step_state(smd_trial *trial, int64_t step, smd_mode mode,
                                smd_step_state *out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    SMD_ASSIGN_OR_RETURN(const analyze::StepState state, trial->trial->StateOf(step, known));
    *out = static_cast<smd_step_state>(state);
    return Status::Ok();
  });
}

smd_error *smd_trial_wait_for_step(smd_trial *trial, int64_t step, smd_mode mode,
                                   int32_t timeout_ms) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return trial->trial->WaitForStep(step, known,
                                     DeadlineFromC(trial->trial->GetClock(), timeout_ms));
  });
}

// ---- workers, collections, names ---------------------------------------------------------

smd_error *smd_trial_workers(smd_trial *trial, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    return Give(trial->trial->Workers(), out);
  });
}

smd_error *smd_trial_collections(smd_trial *trial, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    return Give(trial->trial->CollectionNames(), out);
  });
}

smd_error *smd_trial_collection(smd_trial *trial, const char *name, smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    return Give(trial->trial->Collection(text), out);
  });
}

smd_error *smd_trial_tensor_names(smd_trial *trial, int64_t step, smd_mode mode,
                                  const smd_strings *regexes, const smd_collection *collection,
                                  smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    analyze::NameQuery query;
    SMD_ASSIGN_OR_RETURN(query.mode, ModeFromC(mode));
    if (step >= 0) query.step = step;
    if (regexes != nullptr) query.regexes = regexes->items;
    if (collection != nullptr) {
      SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
      query.collection = collection->collection;
    }
    return Give(trial->trial->TensorNames(query), out);
  });
}

smd_error *smd_trial_recorded_names(smd_trial *trial, int64_t step, smd_mode mode,
                                    smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    return Give(trial->trial->RecordedNames(step, known), out);
  });
}

smd_error *smd_trial_tensor(smd_trial *trial, const char *name, smd_tensor **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    return Give(analyze::Tensor::Find(trial->trial, std::string(text)), out);
  });
}

smd_error *smd_trial_export_tensorboard(smd_trial *trial, const char *folder) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckTrial(trial));
    SMD_ASSIGN_OR_RETURN(const std::string_view path, RequiredText(folder, "folder"));
    SMD_ASSIGN_OR_RETURN(const auto store, storage::OpenStore(path));
    return analyze::ExportTensorboard(*trial->trial, *store);
  });
}
