// Parses the subset of XML that the answers of S3 and STS use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smdebug::net {

struct Element {
  std::string name;               // without the namespace prefix
  std::string text;               // all text directly in it, entities resolved, in UTF-8
  std::vector<Element> children;  // in order

  // Returns the first child with this name, or nullptr.
  const Element *Find(std::string_view child_name) const;
  std::vector<const Element *> FindAll(std::string_view child_name) const;
  // Returns the text of the first child with this name, or "".
  std::string_view TextOf(std::string_view child_name) const;
};

// Returns the outermost element.  Skips attributes, comments and processing instructions, and
// text of white space only between children.
// Accepts at most 32 levels, 64 MiB and 1 million elements, in time linear in the text.
// Refuses DTDs, and so entities that the document defines.  Fails with CORRUPT_DATA; the
// message says what is wrong and at which byte.
Result<Element> ParseXml(std::string_view text);

}  // namespace smdebug::net
