#include "smdebug/types.h"

#include "guard.h"
#include "tensor/dtype.h"

using namespace smdebug;
using namespace smdebug::capi;

const char *smd_mode_name(smd_mode mode) noexcept {
  const std::optional<Mode> known = ModeFromNumber(mode);
  return known ? ModeName(*known).data() : "";
}

const char *smd_dtype_name(smd_dtype dtype) noexcept {
  const auto known = tensor::DTypeFromNumber(dtype);
  return known ? tensor::DTypeName(*known).data() : "";
}

size_t smd_dtype_size(smd_dtype dtype) noexcept {
  const auto known = tensor::DTypeFromNumber(dtype);
  return known ? tensor::DTypeSize(*known) : 0;
}

const char *smd_text_data(const smd_text *text) noexcept {
  return text == nullptr ? "" : text->text.c_str();
}

size_t smd_text_size(const smd_text *text) noexcept {
  return text == nullptr ? 0 : text->text.size();
}

void smd_text_free(smd_text *text) noexcept { delete text; }

smd_error *smd_strings_new(smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_strings;
    return Status::Ok();
  });
}

smd_error *smd_strings_add(smd_strings *list, const char *text) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(list, "list"));
    SMD_RETURN_IF_ERROR(NotNull(text, "text"));
    list->items.emplace_back(text);
    return Status::Ok();
  });
}

size_t smd_strings_count(const smd_strings *list) noexcept {
  return list == nullptr ? 0 : list->items.size();
}

const char *smd_strings_get(const smd_strings *list, size_t index) noexcept {
  return index < smd_strings_count(list) ? list->items[index].c_str() : nullptr;
}

size_t smd_strings_size(const smd_strings *list, size_t index) noexcept {
  return index < smd_strings_count(list) ? list->items[index].size() : 0;
}

void smd_strings_free(smd_strings *list) noexcept { delete list; }

size_t smd_integers_count(const smd_integers *list) noexcept {
  return list == nullptr ? 0 : list->items.size();
}

const int64_t *smd_integers_data(const smd_integers *list) noexcept {
  return smd_integers_count(list) == 0 ? nullptr : list->items.data();
}

int64_t smd_integers_get(const smd_integers *list, size_t index) noexcept {
  return index < smd_integers_count(list) ? list->items[index] : -1;
}

void smd_integers_free(smd_integers *list) noexcept { delete list; }
