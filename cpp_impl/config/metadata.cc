#include "config/metadata.h"

#include <algorithm>

#include "base/strings.h"
#include "config/json_settings.h"

namespace smdebug::config {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

Status CheckText(std::string_view what, std::string_view text, size_t longest) {
  if (text.size() > longest) {
    return InvalidArgument(StrCat("a ", what, " of metadata has ", text.size(), " bytes; at most ",
                                  longest, " are allowed: ", Excerpt(text.substr(0, 60))));
  }
  if (IsUtf8(text)) return Status::Ok();
  return InvalidArgument(StrCat("a ", what, " of metadata is not UTF-8: ", Excerpt(text)));
}

Status CheckKey(std::string_view key) {
  SMD_RETURN_IF_ERROR(CheckText("key", key, MetadataSet::kLongestKey));
  if (key.empty()) return InvalidArgument("a key of metadata is empty");
  if (std::none_of(key.begin(), key.end(), IsControl)) return Status::Ok();
  return InvalidArgument(StrCat("a key of metadata has control characters: ", Excerpt(key)));
}

}  // namespace

void WriteMetadata(const Metadata &metadata, JsonWriter &json) {
  json.BeginObject();
  for (const auto &[key, value] : metadata) {
    json.Key(key);
    json.Text(value);
  }
  json.EndObject();
}

Result<Metadata> ReadMetadata(const JsonValue &json) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  Metadata metadata;
  for (const auto &[key, value] : json.Members()) {
    if (!value.IsText()) continue;
    SMD_ASSIGN_OR_RETURN(metadata[key], value.Text());
  }
  return metadata;
}

Status MetadataSet::Set(std::string_view key, std::string_view value) {
  SMD_RETURN_IF_ERROR(CheckKey(key));
  SMD_RETURN_IF_ERROR(CheckText("value", value, kLongestValue));
  const MutexLock lock(mutex_);
  const auto known = metadata_.find(key);
  if (known != metadata_.end()) {
    if (known->second == value) return Status::Ok();
    known->second = value;
  } else if (metadata_.size() >= kMostKeys) {
    return InvalidArgument(
        StrCat("metadata has ", kMostKeys, " keys already; '", key, "' is one more than allowed"));
  } else {
    metadata_.emplace(key, value);
  }
  ++version_;
  return Status::Ok();
}

std::string MetadataSet::Find(std::string_view key) const {
  const MutexLock lock(mutex_);
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? std::string() : found->second;
}

Metadata MetadataSet::List() const {
  const MutexLock lock(mutex_);
  return metadata_;
}

uint64_t MetadataSet::Version() const {
  const MutexLock lock(mutex_);
  return version_;
}

}  // namespace smdebug::config
