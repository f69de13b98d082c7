// Requests of browsers and scripts, and the responses to them.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smdebug::cli::serve {

// A request without a body.  The server has decoded the path and the query.
struct Request {
  std::string method;
  std::string path;
  std::multimap<std::string, std::string> query;
  std::string host;
  std::string cookies;
  std::string authorization;
  std::string last_event_id;
  std::string fetch_site;  // which page caused the request; see Access
  bool accepts_gzip = false;

  // Returns the first value of a parameter; "" if there is none.
  std::string Text(const std::string &name) const;
  std::vector<std::string> Texts(const std::string &name) const;
  // Returns the number; `otherwise` if the parameter is missing.  Throws BadRequest if it is not a
  // whole number from `least` to `most`.
  int64_t Whole(const std::string &name, int64_t otherwise, int64_t least, int64_t most) const;
  // Returns the number; `otherwise` if the parameter is missing.  Throws BadRequest if it is not a
  // number from `least` to `most`.
  double Number(const std::string &name, double otherwise, double least, double most) const;
};

struct Response {
  int status = 200;
  std::string type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

Response JsonResponse(std::string json);
// A response with one line of text.
Response TextResponse(int status, const std::string &sentence);

// A request that names something that does not exist, or has a bad parameter.
class BadRequest : public std::runtime_error {
 public:
  BadRequest(int status, const std::string &sentence)
      : std::runtime_error(sentence), status_(status) {}
  int Status() const { return status_; }

 private:
  int status_;
};

// Returns true if the value of the header Accept-Encoding allows gzip.
bool AcceptsGzip(std::string_view header);

// Parses a decimal number with an optional minus sign.  Returns false if the text is anything else.
bool ParseWhole(std::string_view text, int64_t *out);

}  // namespace smdebug::cli::serve
