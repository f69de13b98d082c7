#include "net/http.h"

#include <algorithm>

namespace smdebug::net {

const std::string *Response::Find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [name](const Header &header) { return header.name == name; });
  return found == headers.end() ? nullptr : &found->value;
}

}  // namespace smdebug::net
