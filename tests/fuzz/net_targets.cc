#include <array>
#include <cmath>
#include <string>

#include "aws/credentials_json.h"
#include "aws/endpoint.h"
#include "aws/fake_http.h"
#include "aws/ini.h"
#include "aws/process.h"
#include "aws/provider_context.h"
#include "aws/s3_client.h"
#include "aws/s3_objects.h"
#include "aws/sso_token.h"
#include "base/fake_clock.h"
#include "base/strings.h"
#include "net/http_date.h"
#include "net/uri.h"
#include "net/xml.h"
#include "target.h"

namespace smdebug::fuzz {
namespace {

void Ini(std::string_view input) {
  const auto file = aws::ParseIni(input, "credentials");
  if (!file.IsOk()) return;
  for (const auto &[name, section] : file->sections) {
    Require(file->Find(name) == &section, "a section is found by its name");
  }
}

void Credentials(std::string_view input) {
  static_cast<void>(aws::ParseProcessJson(input, "the program"));
  static_cast<void>(aws::ParseCredentialsJson(input, "Token", "the server"));
  const auto token = aws::ParseSsoToken(input, "the cache");
  Require(!token.IsOk() || aws::IsHeaderText(token->access_token),
          "a token is no header injection");
}

void Command(std::string_view input) { static_cast<void>(aws::SplitCommand(input)); }

void Xml(std::string_view input) {
  const auto element = net::ParseXml(input);
  Require(element.IsOk() || element.GetStatus().GetCode() == Code::kCorruptData,
          "bad XML is CORRUPT_DATA");
}

void Dates(std::string_view input) {
  for (const auto &date : {net::ParseHttpDate(input), net::ParseIsoDate(input)}) {
    if (!date) continue;
    Require(std::isfinite(*date), "a date is a number");
    const auto again = net::ParseIsoDate(net::FormatBasicDate(*date));
    Require(
        again && (*again == std::floor(*date) || *date < -62167219200. || *date > 253402300799.),
        "a date survives being written");
  }
}

void Uris(std::string_view input) {
  if (const auto decoded = net::PercentDecode(input); decoded.IsOk()) {
    const auto again = net::PercentDecode(net::PercentEncode(*decoded));
    Require(again.IsOk() && *again == *decoded, "any bytes survive being encoded");
  }
  if (const auto location = aws::ParseS3Url(input); location.IsOk()) {
    const auto again = aws::ParseS3Url("s3://" + location->bucket + "/" + location->prefix);
    Require(again.IsOk() && again->bucket == location->bucket && again->prefix == location->prefix,
            "a location survives being written");
    const auto endpoint = aws::ResolveS3Endpoint(location->bucket, {});
    Require(endpoint.IsOk() && endpoint->host.ends_with(aws::DnsSuffix(endpoint->region)),
            "every bucket is at AWS");
  }
  const auto uri = net::ParseUri(input);
  if (!uri.IsOk() || uri->has_user_info) return;
  const std::string query = uri->query.empty() ? "" : "?" + uri->query;
  const auto again = net::ParseUri(uri->scheme + "://" + uri->Authority() + uri->path + query);
  Require(again.IsOk() && again->host == uri->host && again->port == uri->port,
          "a URL survives being written");
}

class Keys final : public aws::CredentialsProvider {
 public:
  Result<aws::Credentials> Get() override {
    return aws::Credentials{"AKIDEXAMPLE", "secret", "", {}, "the test"};
  }
};

// A service's answer: a status, then headers, an empty line and the body.
net::Response AnswerOf(std::string_view input) {
  net::Response response;
  response.status = 200;
  const auto line = [&input] {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string_view text = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    return text;
  };
  response.status = static_cast<int>(ParseInt(line()).value_or(200));
  for (std::string_view header = line(); !header.empty(); header = line()) {
    const size_t colon = std::min(header.find(':'), header.size());
    response.headers.push_back({ToLower(header.substr(0, colon)),
                                std::string(header.substr(std::min(colon + 1, header.size())))});
  }
  response.body = input;
  response.received = input.size();
  return response;
}

void S3Answer(std::string_view input) {
  FakeClock clock;
  aws::S3Parts parts;
  parts.bucket = "bucket";
  parts.settings.region = "us-east-1";
  parts.settings.endpoint = "https://host.test";
  parts.http = std::make_shared<aws::FakeHttp>([&](const aws::SentRequest &) {
    clock.Pass(std::chrono::seconds(1));
    return Result<net::Response>(AnswerOf(input));
  });
  parts.credentials = std::make_shared<Keys>();
  parts.clock = &clock;
  parts.random = [] { return 0.5; };
  const auto client = aws::S3Client::Open(parts);
  Require(client.IsOk(), "the client opens");
  static_cast<void>(aws::HeadObject(**client, "key"));
  static_cast<void>(aws::GetTexts(**client, {"key"}, 1 << 20));
  static_cast<void>(aws::ListKeys(**client, {"prefix/"}));
}

constexpr std::array kTargets = {
    Target{"ini", Ini},
    Target{"credentials", Credentials},
    Target{"command", Command},
    Target{"xml", Xml},
    Target{"dates", Dates},
    Target{"uris", Uris},
    Target{"s3_answer", S3Answer},
};

}  // namespace

std::span<const Target> NetTargets() { return kTargets; }

}  // namespace smdebug::fuzz
