// Reading of XML, as far as the answers of S3 and STS need it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smdebug::net {

struct Element {
  std::string name;               // without the prefix of its namespace
  std::string text;               // all directly within it, entities resolved, in UTF-8
  std::vector<Element> children;  // in order

  // The first child of that name, or nullptr.
  const Element *Find(std::string_view child_name) const;
  std::vector<const Element *> FindAll(std::string_view child_name) const;
  // The text of that child, or "".
  std::string_view TextOf(std::string_view child_name) const;
};

// The outermost element.  Attributes, comments and processing instructions are skipped,
// and so is text of white space alone beside children.
// At most 32 levels, 64 MiB and 1 million elements, in a time that grows as the text
// does; DTDs and with them entities of the document's own are refused.  CORRUPT_DATA
// says what is wrong and at which byte.
Result<Element> ParseXml(std::string_view text);

}  // namespace smdebug::net
