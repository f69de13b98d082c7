#include "report/booster.h"
#include "report/predictions.h"
#include "serve/api.h"

namespace smdebug::cli::serve {
namespace {

// Reads the tensors that `is_wanted` selects, of the steps that were recorded so far.
template <class IsWanted, class Read>
void ReadWith(const OpenRun &run, const Inventory &tensors, const IsWanted &is_wanted,
              const Read &read) {
  std::vector<std::string> names;
  for (const NamedTensor &tensor : tensors) {
    if (is_wanted(tensor)) names.push_back(tensor.name);
  }
  Damage damage;
  report::Problems problems(run.GetTrial(), damage);
  const report::Inventory inventory = report::TakeInventory(run.GetTrial(), names, &problems);
  read(inventory, &problems);
}

}  // namespace

Response AnswerBooster(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  JsonWriter json;
  const auto is_wanted = [](const NamedTensor &each) { return report::IsOfBooster(each.name); };
  ReadWith(*run, *run->Tensors(), is_wanted, [&json](const auto &inventory, auto *problems) {
    report::ToJson(report::ReadBooster(inventory, problems), &json);
  });
  return JsonResponse(json.Take());
}

Response AnswerPredictions(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  std::optional<report::PredictionReport> found;
  const auto is_wanted = [](const NamedTensor &each) {
    return report::IsOfPredictions(each.name, each.collections);
  };
  ReadWith(*run, *run->Tensors(), is_wanted, [&found](const auto &inventory, auto *problems) {
    problems->Try([&] { found = report::ReadPredictions(inventory); });
  });
  JsonWriter json;
  found ? report::ToJson(*found, &json) : void(json.Null());
  return JsonResponse(json.Take());
}

}  // namespace smdebug::cli::serve
