#include "configuration_html.h"

#include <algorithm>
#include <map>
#include <set>

#include "elements.h"
#include "html.h"
#include "limits.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

std::string StepsText(const std::vector<int64_t> &steps) {
  if (steps.empty()) return "none";
  const std::string count = std::to_string(steps.size());
  return count + " (" + std::to_string(steps.front()) + " to " + std::to_string(steps.back()) + ")";
}

std::string ModesText(const Inventory &inventory) {
  std::vector<std::string> modes;
  for (const auto &[mode, steps] : inventory.modes) {
    modes.push_back(std::string(ModeName(mode)) + " " + std::to_string(steps));
  }
  return modes.empty() ? "none" : Join(modes, ", ");
}

// Returns the first names and the number of further names.
std::string NamesHtml(const std::vector<std::string> &names) {
  std::string html;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    html += (i == 0 ? "<code>" : ", <code>") + Html(names[i]) + "</code>";
  }
  if (names.size() > kMostNames) {
    html += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return html;
}

std::string NumbersText(const std::vector<int64_t> &numbers) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(numbers.size(), kMostNames); ++i) {
    texts.push_back(std::to_string(numbers[i]));
  }
  if (numbers.size() > texts.size()) texts.emplace_back("…");
  return Join(texts, ", ");
}

// Returns, for example, "every 10 steps from 100, and 1, 2".
std::string WhenText(const SaveConfig::Settings &mode) {
  std::string text =
      mode.every == 1 ? "every step" : "every " + std::to_string(mode.every) + " steps";
  if (mode.first != 0) text += " from " + std::to_string(mode.first);
  if (mode.end >= 0) text += " before " + std::to_string(mode.end);
  return mode.steps.empty() ? text : text + ", and " + NumbersText(mode.steps);
}

std::string SaveConfigHtml(const std::optional<SaveConfig> &config) {
  if (!config) return "same as the hook";
  std::vector<std::pair<std::string, std::string>> modes;
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict, Mode::kGlobal}) {
    if (config->IsSet(mode)) modes.emplace_back(ModeName(mode), WhenText(config->SettingsOf(mode)));
  }
  const bool is_same = std::all_of(modes.begin(), modes.end(), [&](const auto &mode) {
    return mode.second == modes.front().second;
  });
  if (modes.empty()) return "same as the hook";
  if (is_same && modes.size() > 1) return Html(modes.front().second);
  std::string html;
  for (const auto &[mode, when] : modes) {
    html += (html.empty() ? "" : "<br>") + Html(mode) + ": " + Html(when);
  }
  return html;
}

std::string ReductionConfigText(const ReductionConfig &config) {
  std::vector<std::string> parts = config.Reductions();
  if (config.SavesShape()) parts.insert(parts.begin(), "shapes");
  if (config.SavesRaw() || parts.empty()) parts.insert(parts.begin(), "values");
  return Join(parts, ", ");
}

// Returns the collection's reduction config, else what was saved for its first tensor: a trial may
// lack the configs that its hook had.
std::string SavedForm(const Collection &collection, const std::vector<std::string> &tensors,
                      const Inventory &inventory) {
  if (const auto own = collection.OwnReductionConfig()) return ReductionConfigText(*own);
  for (const std::string &name : tensors) {
    const RecordedTensor *const recorded = inventory.Find(name);
    if (recorded == nullptr || recorded->saved.empty()) continue;
    return recorded->has_values ? "values" : Join(recorded->saved, ", ");
  }
  return "same as the hook";
}

// Returns the number of steps in each mode at which some of the tensors were saved, "TRAIN 54, EVAL
// none": a config may select steps in modes in which there is nothing to save.
std::string SavedStepsText(const std::vector<std::string> &tensors, const Inventory &inventory) {
  std::map<Mode, std::set<int64_t>> saved;
  for (const std::string &name : tensors) {
    const RecordedTensor *const recorded = inventory.Find(name);
    if (recorded == nullptr) continue;
    for (const int64_t step : recorded->steps) {
      const auto place = inventory.places.find(step);
      if (place != inventory.places.end()) saved[place->second.mode].insert(step);
    }
  }
  std::vector<std::string> texts;
  for (const auto &[mode, steps] : inventory.modes) {
    const size_t count = saved[mode].size();
    texts.push_back(std::string(ModeName(mode)) + " " +
                    (count == 0 ? "none" : std::to_string(count)));
  }
  return saved.empty() || tensors.empty() ? "none" : Join(texts, ", ");
}

std::string CollectionRow(const Trial &trial, const Inventory &inventory, const std::string &name) {
  const Collection collection = trial.Collection(name);
  Trial::Names wanted;
  wanted.collection = &collection;
  const std::vector<std::string> tensors = trial.TensorNames(wanted);
  const std::vector<std::string> regexes = collection.Regexes();
  if (tensors.empty() && regexes.empty()) return "";
  std::string members = std::to_string(tensors.size());
  if (!tensors.empty()) {
    members = "<details><summary>" + members + "</summary>" + NamesHtml(tensors) + "</details>";
  }
  return "<tr><th scope=\"row\">" + Html(name) + "</th><td>" + members + "</td><td>" +
         NamesHtml(regexes) + "</td><td>" + SaveConfigHtml(collection.OwnSaveConfig()) +
         "</td><td>" + Html(SavedStepsText(tensors, inventory)) + "</td><td>" +
         Html(SavedForm(collection, tensors, inventory)) + "</td></tr>\n";
}

std::string CollectionsHtml(const Trial &trial, const Inventory &inventory, Problems *problems) {
  std::string rows;
  for (const std::string &name : trial.Collections()) {
    problems->Try([&] { rows += CollectionRow(trial, inventory, name); });
  }
  if (rows.empty()) return "";
  return "<div class=\"card\"><h3>Collections</h3><div class=\"scroll\" tabindex=\"0\" "
         "role=\"region\" "
         "aria-label=\"Collections\"><table class=\"wide\"><thead><tr><th>Collection</th>"
         "<th>Tensors</th><th>Expressions</th><th>Save config</th><th>Saved steps</th><th>Saved "
         "form</th></tr></thead>"
         "<tbody>\n" +
         rows + "</tbody></table></div></div>\n";
}

std::string ElementsText(const Tensor &tensor, int64_t step) {
  const Value value = tensor.Value(step);
  const ElementReader reader(value);
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(reader.Size(), kMostNames); ++i) texts.push_back(reader.Text(i));
  if (reader.Size() > texts.size()) texts.emplace_back("…");
  return Join(texts, ", ");
}

// Returns the hyperparameters of a booster, with the text of each.
std::vector<Setting> HyperparametersOf(const Inventory &inventory, Problems *problems) {
  constexpr std::string_view kPrefix = "hyperparameters/";
  std::vector<Setting> settings;
  size_t count = 0;
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (!recorded.IsIn("hyperparameters") || !recorded.has_values || ++count > kMostLayers)
      continue;
    const std::string name =
        recorded.name.starts_with(kPrefix) ? recorded.name.substr(kPrefix.size()) : recorded.name;
    problems->Try([&] {
      settings.push_back({name, Html(ElementsText(recorded.tensor, recorded.steps.front()))});
    });
  }
  return settings;
}

std::string HyperparametersHtml(const std::vector<Setting> &settings) {
  std::string rows;
  for (const Setting &setting : settings) {
    rows += "<tr><th scope=\"row\"><code>" + Html(setting.name) + "</code></th><td>" +
            setting.html + "</td></tr>\n";
  }
  if (rows.empty()) return "";
  return "<div class=\"card\"><h3>Hyperparameters</h3><div class=\"scroll\" tabindex=\"0\" "
         "role=\"region\" aria-label=\"Hyperparameters\"><table>" +
         rows + "</table></div></div>\n";
}

// Returns what the job recorded about itself by name, without what hooks record of themselves.
std::string MetadataHtml(const RunFacts &facts) {
  std::string rows;
  for (const auto &[key, value] : facts.metadata) {
    if (key.starts_with("run.")) continue;
    rows += "<tr><th scope=\"row\"><code>" + Html(key) + "</code></th><td>" + Html(value) +
            "</td></tr>\n";
  }
  if (rows.empty()) return "";
  return "<div class=\"card\"><h3>Metadata</h3><div class=\"scroll\" tabindex=\"0\" "
         "role=\"region\" aria-label=\"Metadata\"><table>" +
         rows + "</table></div></div>\n";
}

// Returns the first digits of a commit; all of them are its title.
std::string CommitHtml(const std::string &commit) {
  constexpr size_t kDigits = 12;
  if (commit.empty()) return "";
  return "<code title=\"" + Html(commit) + "\">" + Html(commit.substr(0, kDigits)) + "</code>";
}

std::string RulesHtml(const ReportRequest &request, size_t count) {
  std::string rows;
  for (const RuleRequest &rule : request.rules) {
    for (const auto &[name, value] : rule.given) {
      rows += "<tr><th scope=\"row\">" + Html(rule.name) + "</th><td><code>" + Html(name) +
              "</code></td><td>" + Html(value) + "</td></tr>\n";
    }
  }
  const std::string defaults =
      request.profile == "aws" ? "the profile <b>aws</b>, which the training service documents"
      : request.profile == "llm"
          ? "the set <b>llm</b>, which is for large trainings"
          : "the profile <b>calibrated</b>, which rarely reports anything on a healthy run";
  const std::string table =
      rows.empty()
          ? ""
          : "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Parameters of "
            "rules\"><table><thead><tr><th>Rule</th><th>Parameter</th><th>Value</th></tr>"
            "</thead><tbody>\n" +
                rows + "</tbody></table></div>";
  return "<div class=\"card\"><h3>Rules</h3><p>" + Count(count, "rule") +
         " evaluated. Defaults of parameters come from " + defaults + ".</p>" + table + "</div>\n";
}

}  // namespace

std::vector<Setting> SettingsOf(const Trial &trial, const Inventory &inventory,
                                const RunFacts &facts, Problems *problems) {
  std::vector<Setting> settings = HyperparametersOf(inventory, problems);
  for (const auto &[key, value] : facts.metadata) settings.push_back({key, Html(value)});
  settings.push_back({"begin", Html(facts.BeginText())});
  settings.push_back({"duration", Html(facts.DurationText())});
  settings.push_back({"steps", StepsText(inventory.steps)});
  settings.push_back({"modes", Html(ModesText(inventory))});
  settings.push_back({"tensors", std::to_string(inventory.tensors.size())});
  settings.push_back({"workers", std::to_string(inventory.workers.size())});
  for (const std::string &name : trial.Collections()) {
    problems->Try([&] {
      const Collection collection = trial.Collection(name);
      const std::string heading = "collection " + name;
      settings.push_back({heading + ": save config", SaveConfigHtml(collection.OwnSaveConfig())});
      settings.push_back({heading + ": expressions", NamesHtml(collection.Regexes())});
      if (const auto own = collection.OwnReductionConfig()) {
        settings.push_back({heading + ": saved form", Html(ReductionConfigText(*own))});
      }
    });
  }
  return settings;
}

std::string JobStateHtml(const Trial &trial, const std::string &failure) {
  if (!failure.empty()) return "failed: " + Html(failure);
  return trial.HasEnded() ? "ended" : "not ended";
}

std::string TrialFactsHtml(const Trial &trial, const Inventory &inventory, const RunFacts &facts) {
  const size_t workers = inventory.workers.size();
  return "<dl class=\"facts\">" + Fact("Steps", StepsText(inventory.steps)) +
         Fact("Modes", Html(ModesText(inventory))) +
         Fact("Tensors", std::to_string(inventory.tensors.size())) +
         Fact("Workers", workers == 1 ? Html(inventory.workers.front()) : std::to_string(workers)) +
         Fact("State", JobStateHtml(trial, facts.Get("run.failure"))) +
         Fact("Begin", Html(facts.BeginText())) + Fact("Duration", Html(facts.DurationText())) +
         Fact("Host", Html(facts.Get("run.host"))) +
         Fact("Commit", CommitHtml(facts.Get("run.commit"))) +
         Fact("Versions", Html(facts.VersionsText())) +
         Fact("Trial", "<code>" + Html(trial.Path()) + "</code>") + "</dl>\n";
}

std::string ConfigurationHtml(const ReportRequest &request, const Inventory &inventory,
                              const RunFacts &facts, size_t rules, Problems *problems) {
  std::string html;
  problems->Try([&] { html = CollectionsHtml(request.trial, inventory, problems); });
  return html + MetadataHtml(facts) + HyperparametersHtml(HyperparametersOf(inventory, problems)) +
         RulesHtml(request, rules);
}

std::string ProblemsHtml(const Problems &problems) {
  if (problems.Sentences().empty()) return "";
  std::string items;
  for (const std::string &sentence : problems.Sentences()) {
    items += "<li>" + Html(sentence) + "</li>\n";
  }
  if (problems.Others() > 0)
    items += "<li>and " + std::to_string(problems.Others()) + " more</li>\n";
  return "<div class=\"headline idle problems\" role=\"note\"><span class=\"sign\" "
         "aria-hidden=\"true\">!</span><div><p><b>Parts of the trial could not be "
         "read.</b></p><ul>" +
         items + "</ul></div></div>\n";
}

}  // namespace smdebug::cli::report
