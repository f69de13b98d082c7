// Wraps cJSON for the C++ runner.
#pragma once

#include <cjson/cJSON.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct DeleteJson {
  void operator()(cJSON *json) const { cJSON_Delete(json); }
};
using Json = std::unique_ptr<cJSON, DeleteJson>;

// Returns NULL if no member has this name.
inline const cJSON *Member(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

// Returns an empty list for NULL.
inline std::vector<const cJSON *> Items(const cJSON *list) {
  std::vector<const cJSON *> items;
  for (const cJSON *item = list == nullptr ? nullptr : list->child; item != nullptr;
       item = item->next) {
    items.push_back(item);
  }
  return items;
}

inline std::string TextOf(const cJSON *text) {
  if (!cJSON_IsString(text))
    throw std::runtime_error("the scenario has another type instead of a text");
  return text->valuestring;
}

inline int64_t NumberOf(const cJSON *number) {
  if (!cJSON_IsNumber(number))
    throw std::runtime_error("the scenario has another type instead of a number");
  return static_cast<int64_t>(number->valuedouble);
}

inline Json Text(const std::string &text) { return Json(cJSON_CreateString(text.c_str())); }
inline Json Number(int64_t number) { return Json(cJSON_CreateNumber(static_cast<double>(number))); }

inline void Append(const Json &list, Json item) {
  cJSON_AddItemToArray(list.get(), item.release());
}

inline void Put(const Json &object, const std::string &name, Json item) {
  cJSON_AddItemToObject(object.get(), name.c_str(), item.release());
}

inline std::string Printed(const cJSON *json) {
  const std::unique_ptr<char, decltype(&cJSON_free)> text(cJSON_PrintUnformatted(json), cJSON_free);
  return text == nullptr ? "" : text.get();
}

inline std::string Replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

inline std::string Hex(const void *data, size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  const auto *bytes = static_cast<const unsigned char *>(data);
  std::string hex;
  for (size_t i = 0; i < size; ++i) {
    hex += digits[bytes[i] >> 4];
    hex += digits[bytes[i] & 15];
  }
  return hex;
}

inline std::vector<unsigned char> Bytes(const std::string &hex) {
  std::vector<unsigned char> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}
