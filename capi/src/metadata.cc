#include "smdebug/metadata.h"

#include "guard.h"
#include "record/run_facts.h"
#include "smdebug/version.h"

using namespace smdebug;
using namespace smdebug::capi;

smd_error *smd_hook_set_metadata(smd_hook *hook, const char *key, const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(key, "key"));
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    return hook->hook->SetMetadata(name, value);
  });
}

smd_error *smd_hook_describe_run(smd_hook *hook) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(hook, "hook"));
    record::Hook &described = *hook->hook;
    SMD_RETURN_IF_ERROR(
        described.SetMetadata("run.library", StrCat("libsmdebug ", smd_version_string())));
    const auto set = [&](std::string_view key, const std::optional<std::string> &value) {
      return value && IsUtf8(*value) ? described.SetMetadata(key, *value) : Status::Ok();
    };
    SMD_RETURN_IF_ERROR(set("run.host", record::HostName()));
    return set("run.commit", record::CommitOf("."));
  });
}

smd_error *smd_trial_metadata(smd_trial *trial, const char *worker, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(trial, "trial"));
    SMD_ASSIGN_OR_RETURN(const config::Metadata metadata,
                         trial->trial->MetadataOf(worker == nullptr ? "" : worker));
    std::vector<std::string> texts;
    for (const auto &[key, value] : metadata) texts.insert(texts.end(), {key, value});
    return Give(Result<std::vector<std::string>>(std::move(texts)), out);
  });
}
