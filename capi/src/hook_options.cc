// The options of smdebug/hook.h.
#include "base/strings.h"
#include "guard.h"
#include "log_sink.h"
#include "smdebug/hook.h"

using namespace smdebug;
using namespace smdebug::capi;

smd_error *smd_hook_options_new(smd_hook_options **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_hook_options;
    return Status::Ok();
  });
}

smd_error *smd_hook_options_set(smd_hook_options *options, const char *name,
                                const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    return options->options.Set(option, value);
  });
}

smd_error *smd_hook_options_load(smd_hook_options *options, const char *path) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(options->CheckCollections());
    return options->options.Load(std::string(OptionalText(path)));
  });
}

smd_error *smd_hook_options_get(const smd_hook_options *options, const char *name,
                                smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(std::string value, options->options.Get(option));
    *out = new smd_text{std::move(value)};
    return Status::Ok();
  });
}

smd_error *smd_hook_options_regexes(const smd_hook_options *options, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    *out = new smd_strings{options->options.include_regexes};
    return Status::Ok();
  });
}

smd_error *smd_hook_options_collections(const smd_hook_options *options,
                                        smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    auto names = std::make_unique<smd_strings>();
    for (const config::CollectionPtr &each : options->options.collections) {
      names->items.push_back(each->Name());
    }
    *out = names.release();
    return Status::Ok();
  });
}

smd_error *smd_hook_options_collection(const smd_hook_options *options, const char *name,
                                       smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view wanted, RequiredText(name, "name"));
    for (const config::CollectionPtr &each : options->options.collections) {
      if (each->Name() != wanted) continue;
      *out = new smd_collection{each};
      return Status::Ok();
    }
    return Status(Code::kNotFound, StrCat("the options have no collection '", wanted, "'"));
  });
}

smd_error *smd_hook_options_save_config(const smd_hook_options *options,
                                        smd_save_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    *out = new smd_save_config{options->options.save_config};
    return Status::Ok();
  });
}

smd_error *smd_hook_options_reduction_config(const smd_hook_options *options,
                                             smd_reduction_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    *out = new smd_reduction_config{options->options.reduction_config};
    return Status::Ok();
  });
}

smd_error *smd_hook_options_include_regex(smd_hook_options *options, const char *regex) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(NotNull(regex, "regex"));
    SMD_ASSIGN_OR_RETURN(const Regex compiled, Regex::Compile(regex));
    options->options.include_regexes.push_back(compiled.Expression());
    return Status::Ok();
  });
}

smd_error *smd_hook_options_set_save_config(smd_hook_options *options,
                                            const smd_save_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    options->options.save_config = config->config;
    return Status::Ok();
  });
}

smd_error *smd_hook_options_set_reduction_config(smd_hook_options *options,
                                                 const smd_reduction_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(NotNull(config, "config"));
    options->options.reduction_config = config->config;
    return Status::Ok();
  });
}

smd_error *smd_hook_options_add_collection(smd_hook_options *options,
                                           smd_collection *collection) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    options->options.collections.push_back(collection->collection);
    return Status::Ok();
  });
}

smd_error *smd_hook_options_set_log(smd_hook_options *options, smd_log_level level, smd_log_fn log,
                                    void *user_data, smd_release_fn destroy) noexcept {
  return Guard([&]() -> Status {
    SMD_ASSIGN_OR_RETURN(Logger logger, LoggerFromC(level, log, user_data, destroy));
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    options->options.logger = std::move(logger);
    return Status::Ok();
  });
}

void smd_hook_options_free(smd_hook_options *options) noexcept { delete options; }
