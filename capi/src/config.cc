#include "smdebug/config.h"

#include <algorithm>

#include "guard.h"

using namespace smdebug;
using namespace smdebug::capi;

// ---- save config -------------------------------------------------------------------------

smd_error *smd_save_config_new(smd_save_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_save_config;
    return Status::Ok();
  });
}

smd_error *smd_save_config_set(smd_save_config *config, smd_mode mode, int64_t every, int64_t first,
                               int64_t end, const int64_t *steps, size_t step_count) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    if (step_count > 0) SMD_RETURN_IF_ERROR(NotNull(steps, "steps"));
    config::SaveConfigMode settings;
    settings.interval = every;
    settings.start = first;
    if (end != -1) settings.end = end;
    settings.steps.assign(steps, steps + step_count);
    if (mode != SMD_MODE_ANY) {
      SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
      return config->config.Set(known, std::move(settings));
    }
    SMD_RETURN_IF_ERROR(settings.Check());
    config->config.SetAll(settings);
    return Status::Ok();
  });
}

int32_t smd_save_config_is_set(const smd_save_config *config, smd_mode mode) noexcept {
  const std::optional<Mode> known = ModeFromNumber(mode);
  return config != nullptr && known && config->config.Of(*known).has_value() ? 1 : 0;
}

smd_error *smd_save_config_get(const smd_save_config *config, smd_mode mode, int64_t *every_out,
                               int64_t *first_out, int64_t *end_out,
                               smd_integers **steps_out) noexcept {
  return Guard([&]() -> Status {
    ClearOuts(every_out, first_out, end_out, steps_out);
    SMD_RETURN_IF_ERROR(NotNull(every_out, "every_out"));
    SMD_RETURN_IF_ERROR(NotNull(first_out, "first_out"));
    SMD_RETURN_IF_ERROR(NotNull(end_out, "end_out"));
    SMD_RETURN_IF_ERROR(NotNull(steps_out, "steps_out"));
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    SMD_ASSIGN_OR_RETURN(const Mode known, ModeFromC(mode));
    const auto settings = config->config.Of(known).value_or(config::SaveConfigMode());
    *steps_out = new smd_integers{settings.steps};
    *every_out = settings.interval;
    *first_out = settings.start;
    // A file may hold a negative end, which saves no more than 0 does.
    *end_out = settings.end ? std::max<int64_t>(*settings.end, 0) : -1;
    return Status::Ok();
  });
}

int32_t smd_save_config_saves(const smd_save_config *config, int64_t step, smd_mode mode) noexcept {
  const std::optional<Mode> known = ModeFromNumber(mode);
  return config != nullptr && known && config->config.Wants(*known, step) ? 1 : 0;
}

smd_error *smd_save_config_merge(smd_save_config *config,
                                 const smd_save_config *defaults) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    SMD_RETURN_IF_ERROR(NotNull(defaults, "defaults"));
    config->config.Merge(defaults->config);
    return Status::Ok();
  });
}

int32_t smd_save_config_equal(const smd_save_config *a, const smd_save_config *b) noexcept {
  return a != nullptr && b != nullptr && a->config == b->config ? 1 : 0;
}

smd_error *smd_save_config_to_json(const smd_save_config *config, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    *out = new smd_text{config->config.ToJson()};
    return Status::Ok();
  });
}

smd_error *smd_save_config_from_json(const char *json, smd_save_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(json, "json"));
    return Give(config::SaveConfig::FromJson(text), out);
  });
}

void smd_save_config_free(smd_save_config *config) noexcept { delete config; }

// ---- reduction config --------------------------------------------------------------------

smd_error *smd_reduction_config_new(smd_reduction_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_reduction_config;
    return Status::Ok();
  });
}

smd_error *smd_reduction_config_add(smd_reduction_config *config, const char *reductions) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(reductions, "reductions"));
    return config->config.AddList(text);
  });
}

smd_error *smd_reduction_config_set_raw(smd_reduction_config *config, int32_t on) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    config->config.SetSavesRaw(on != 0);
    return Status::Ok();
  });
}

smd_error *smd_reduction_config_set_shape(smd_reduction_config *config, int32_t on) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    config->config.SetSavesShape(on != 0);
    return Status::Ok();
  });
}

int32_t smd_reduction_config_raw(const smd_reduction_config *config) noexcept {
  return config != nullptr && config->config.SavesRaw() ? 1 : 0;
}

int32_t smd_reduction_config_shape(const smd_reduction_config *config) noexcept {
  return config != nullptr && config->config.SavesShape() ? 1 : 0;
}

smd_error *smd_reduction_config_reductions(const smd_reduction_config *config,
                                           smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    auto names = std::make_unique<smd_strings>();
    for (const tensor::Reduction reduction : config->config.Reductions()) {
      names->items.push_back(config::ReductionConfigName(reduction));
    }
    *out = names.release();
    return Status::Ok();
  });
}

int32_t smd_reduction_config_equal(const smd_reduction_config *a,
                                   const smd_reduction_config *b) noexcept {
  return a != nullptr && b != nullptr && a->config == b->config ? 1 : 0;
}

smd_error *smd_reduction_config_to_json(const smd_reduction_config *config,
                                        smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    *out = new smd_text{config->config.ToJson()};
    return Status::Ok();
  });
}

smd_error *smd_reduction_config_from_json(const char *json, smd_reduction_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(json, "json"));
    return Give(config::ReductionConfig::FromJson(text), out);
  });
}

void smd_reduction_config_free(smd_reduction_config *config) noexcept { delete config; }
