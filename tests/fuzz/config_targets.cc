#include <array>
#include <string>

#include "base/json.h"
#include "base/regex.h"
#include "config/collection_set.h"
#include "config/hook_config.h"
#include "profile/json_text.h"
#include "profile/leftovers.h"
#include "rules/registry.h"
#include "rules/support/parameters.h"
#include "target.h"

namespace smdebug::fuzz {
namespace {

void Json(std::string_view input) {
  const auto document = JsonDocument::Parse(input);
  if (!document.IsOk()) return;
  for (const auto &[key, value] : document->Root().Members()) {
    static_cast<void>(value.Text());
    static_cast<void>(value.Int());
    static_cast<void>(value.Number());
    static_cast<void>(value.Place());
  }
}

void HookConfig(std::string_view input) {
  config::HookConfigContext context;
  context.path = "hook.json";
  const auto alone = config::ParseHookConfig(input, context);
  context.collections = config::CollectionSet::Defaults();
  const auto built_in = config::ParseHookConfig(input, context);
  Require(alone.IsOk() == built_in.IsOk(), "existing collections do not change the result");
  if (!alone.IsOk()) return;
  Require(alone->problems.size() <= 100, "problems are few");
  for (const Mode mode : kModes) {
    Require(alone->save_config.Of(mode)->Check().IsOk(), "save settings that are read make sense");
  }
}

// What was read is written so that it is read as the same.
void Collections(std::string_view input) {
  const auto read = config::CollectionsFromJson(input, "c");
  if (!read.IsOk()) {
    Require(read.GetStatus().GetCode() == Code::kCorruptData, "bad collections are CORRUPT_DATA");
    return;
  }
  const std::string text = config::CollectionsToJson(read->collections, read->num_workers,
                                                     read->placements, read->metadata);
  const auto again = config::CollectionsFromJson(text, "c");
  Require(again.IsOk(), "what was written is read");
  Require(config::CollectionsToJson(again->collections, again->num_workers, again->placements,
                                    again->metadata) == text,
          "collections survive being written");
}

// Before the first line's end an expression, behind it what it is looked for in.
void RegularExpression(std::string_view input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const auto regex = Regex::Compile(input.substr(0, end));
  if (!regex.IsOk()) return;
  static_cast<void>(regex->IsFoundIn(input.substr(std::min(end + 1, input.size()))));
}

// The first line is a rule's name.
void RuleParameters(std::string_view input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const auto given = rules::Parameters::FromJson(input.substr(std::min(end + 1, input.size())));
  if (!given.IsOk()) return;
  for (const rules::Profile profile : {rules::Profile::kAws, rules::Profile::kCalibrated}) {
    static_cast<void>(rules::BuiltinRule(input.substr(0, end), *given, profile));
  }
}

// Arguments of an event stay an object on one line.
void EventArgs(std::string_view input) {
  if (!profile::IsJsonObject(input)) return;
  std::string members;
  profile::AppendMembers(&members, input);
  for (const char letter : members) Require(letter >= 0x20 && letter < 0x7f, "arguments are ASCII");
  Require(profile::IsJsonObject("{" + members + "}"), "arguments stay an object");
}

// A file that was completed needs no completion.
void Leftovers(std::string_view input) {
  if (const auto timeline = profile::CompleteTimeline(input)) {
    const auto again = profile::CompleteTimeline(timeline->text);
    Require(again && again->text == timeline->text, "a timeline is completed once");
    Require(JsonDocument::Parse(timeline->text).IsOk(), "a completed timeline is JSON");
  }
  if (const auto system = profile::CompleteSystemFile(input)) {
    const auto again = profile::CompleteSystemFile(system->text);
    Require(again && again->text == system->text, "a system file is completed once");
  }
}

constexpr std::array kTargets = {
    Target{"json", Json},
    Target{"hook_config", HookConfig},
    Target{"collections", Collections},
    Target{"regex", RegularExpression},
    Target{"rule_parameters", RuleParameters},
    Target{"event_args", EventArgs},
    Target{"leftovers", Leftovers},
};

}  // namespace

std::span<const Target> ConfigTargets() { return kTargets; }

}  // namespace smdebug::fuzz
