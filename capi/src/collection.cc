// The collections of smdebug/collection.h and smdebug/sys/files.h.
#include "smdebug/collection.h"

#include "config/collection_set.h"
#include "guard.h"
#include "smdebug/sys/files.h"

using namespace smdebug;
using namespace smdebug::capi;

smd_error *smd_collection_new(const char *name, smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "name"));
    *out = new smd_collection{std::make_shared<config::Collection>(std::string(text))};
    return Status::Ok();
  });
}

const char *smd_collection_name(const smd_collection *collection) noexcept {
  return IsUsable(collection) ? collection->collection->Name().c_str() : "";
}

smd_error *smd_collection_include_regex(smd_collection *collection, const char *regex) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    SMD_RETURN_IF_ERROR(NotNull(regex, "regex"));
    return collection->collection->Include(regex);
  });
}

smd_error *smd_collection_add_tensor(smd_collection *collection, const char *tensor) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    collection->collection->AddTensor(name);
    return Status::Ok();
  });
}

smd_error *smd_collection_remove_tensor(smd_collection *collection, const char *tensor) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    SMD_ASSIGN_OR_RETURN(const std::string_view name, RequiredText(tensor, "tensor"));
    collection->collection->RemoveTensor(name);
    return Status::Ok();
  });
}

int32_t smd_collection_has(const smd_collection *collection, const char *tensor) noexcept {
  if (!IsUsable(collection) || tensor == nullptr) return 0;
  return GuardValue(0, [&] {
    const auto has = collection->collection->Has(tensor);
    return has.IsOk() && *has ? 1 : 0;
  });
}

smd_error *smd_collection_set_save_config(smd_collection *collection,
                                          const smd_save_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    std::optional<config::SaveConfig> own;
    if (config != nullptr) own = config->config;
    collection->collection->SetSaveConfig(std::move(own));
    return Status::Ok();
  });
}

smd_error *smd_collection_set_reduction_config(smd_collection *collection,
                                               const smd_reduction_config *config) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    std::optional<config::ReductionConfig> own;
    if (config != nullptr) own = config->config;
    collection->collection->SetReductionConfig(std::move(own));
    return Status::Ok();
  });
}

smd_error *smd_collection_set_save_histogram(smd_collection *collection, int32_t on) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    collection->collection->SetSavesHistogram(on != 0);
    return Status::Ok();
  });
}

int32_t smd_collection_save_histogram(const smd_collection *collection) noexcept {
  if (!IsUsable(collection)) return 0;
  return GuardValue(0, [&] { return collection->collection->SavesHistogram() ? 1 : 0; });
}

smd_error *smd_collection_regexes(const smd_collection *collection, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    *out = new smd_strings{collection->collection->Regexes()};
    return Status::Ok();
  });
}

smd_error *smd_collection_tensors(const smd_collection *collection, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    *out = new smd_strings{collection->collection->Tensors()};
    return Status::Ok();
  });
}

smd_error *smd_collection_save_config(const smd_collection *collection,
                                      smd_save_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    auto own = collection->collection->GetSaveConfig();
    if (own) *out = new smd_save_config{*std::move(own)};
    return Status::Ok();
  });
}

smd_error *smd_collection_reduction_config(const smd_collection *collection,
                                           smd_reduction_config **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    auto own = collection->collection->GetReductionConfig();
    if (own) *out = new smd_reduction_config{*std::move(own)};
    return Status::Ok();
  });
}

smd_error *smd_collection_to_json(const smd_collection *collection, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(collection, "collection"));
    *out = new smd_text{collection->collection->ToJson()};
    return Status::Ok();
  });
}

smd_error *smd_collection_from_json(const char *json, smd_collection **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(json, "json"));
    return Give(config::Collection::FromJson(text), out);
  });
}

void smd_collection_free(smd_collection *collection) noexcept { Free(collection); }

smd_error *smd_collections_to_json(const smd_collection *const *collections, size_t count,
                                   int32_t num_workers, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    if (count > 0) SMD_RETURN_IF_ERROR(NotNull(collections, "collections"));
    if (num_workers < 1) return InvalidArgument("num_workers must be 1 or more");
    std::vector<config::CollectionPtr> list;
    for (size_t i = 0; i < count; ++i) {
      SMD_RETURN_IF_ERROR(CheckUsable(collections[i], "a collection"));
      list.push_back(collections[i]->collection);
    }
    *out = new smd_text{config::CollectionsToJson(list, num_workers)};
    return Status::Ok();
  });
}
