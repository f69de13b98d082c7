#include "profile/file_texts.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace smdebug::profile {
namespace {

constexpr int kMostAtOnce = 8;

}  // namespace

Result<TextPieces> FileTexts::OpenNext() {
  const auto at_once = static_cast<size_t>(std::clamp(store_->ReadsAtOnce(), 1, kMostAtOnce));
  const ProfileFile &file = files_[next_++];
  if (at_once == 1) {
    SMD_ASSIGN_OR_RETURN(auto reader, store_->Open(file.name));
    return TextPieces(std::move(reader));
  }
  if (texts_.empty()) {
    std::vector<std::string> names;
    for (size_t i = next_ - 1; i < files_.size() && names.size() < at_once; ++i) {
      names.push_back(files_[i].name);
    }
    for (auto &text : store_->ReadTexts(names)) texts_.push_back(std::move(text));
  }
  Result<std::string> text = std::move(texts_.front());
  texts_.pop_front();
  if (!text.IsOk()) return text.GetStatus();
  return TextPieces(*std::move(text));
}

TimelineState &FileTexts::StateOf(const ProfileFile &file) {
  return states_[StrCat(file.node, " ", file.type)];
}

std::string FileTexts::Describe(const ProfileFile &file) const {
  return StrCat(store_->Location(), "/", file.name);
}

}  // namespace smdebug::profile
