// The signing test suite of AWS, and the examples of the S3 reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "aws/sigv4.h"
#include "base/json.h"
#include "base/strings.h"
#include "net/uri.h"

namespace smdebug::aws::sigv4_vectors_test {
namespace {

namespace fs = std::filesystem;

const fs::path kVectors = SMDEBUG_VECTORS;

std::string ReadText(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::erase(text, '\r');
  return text;
}

// Removes the newline at the end of some files of the suite.
std::string ReadExpected(const fs::path &path) {
  std::string text = ReadText(path);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string Decoded(std::string_view text) { return *net::PercentDecode(text); }

std::vector<QueryParameter> Parameters(std::string_view query) {
  std::vector<QueryParameter> parameters;
  for (const std::string &pair : SplitList(query, '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    parameters.push_back(
        {Decoded(std::string_view(pair).substr(0, equals)),
         Decoded(std::string_view(pair).substr(std::min(equals + 1, pair.size())))});
  }
  return parameters;
}

// Parses "2015-08-30T12:36:00Z" or "20150830T123600Z".
double SecondsOf(std::string text) {
  std::erase_if(text, [](char letter) { return letter == '-' || letter == ':'; });
  const auto number = [&](size_t begin, size_t length) {
    return static_cast<int>(ParseInt(text.substr(begin, length)).value());
  };
  const std::chrono::sys_days day{std::chrono::year(number(0, 4)) / number(4, 2) / number(6, 2)};
  const auto time = day + std::chrono::hours(number(9, 2)) + std::chrono::minutes(number(11, 2)) +
                    std::chrono::seconds(number(13, 2));
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// A request of the suite: raw HTTP, which may contain characters that are invalid in a URL.
struct SuiteRequest {
  std::string method;
  std::string path;
  std::vector<QueryParameter> query;
  std::string host;
  std::vector<net::Header> headers;
  std::string body;

  SigningRequest ToSign() const { return {method, path, query, host, headers}; }
};

std::string PathAsSent(std::string_view raw) {
  std::string out;
  for (const char letter : raw) {
    const bool is_sendable = letter > ' ' && letter < '\x7f';
    out.append(is_sendable ? std::string(1, letter) : net::PercentEncode({&letter, 1}));
  }
  return out;
}

void AddHeader(const std::string &line, SuiteRequest *request) {
  if (line.starts_with(' ')) {
    request->headers.back().value.append("\n").append(line);
    return;
  }
  const size_t colon = line.find(':');
  const std::string name = line.substr(0, colon);
  const std::string lower = ToLower(name);
  if (lower == "host") {
    request->host = line.substr(colon + 1);
  } else if (lower != "x-amz-date") {
    request->headers.push_back({name, line.substr(colon + 1)});
  }
}

SuiteRequest ParseRequest(const std::string &text) {
  SuiteRequest request;
  const size_t line_end = text.find('\n');
  std::string first = text.substr(0, line_end);
  if (first.ends_with(" HTTP/1.1")) first.resize(first.size() - 9);
  const size_t space = first.find(' ');
  request.method = first.substr(0, space);
  const std::string target = first.substr(space + 1);
  const size_t mark = std::min(target.find('?'), target.size());
  request.path = PathAsSent(target.substr(0, mark));
  if (mark < target.size()) request.query = Parameters(target.substr(mark + 1));
  size_t begin = line_end + 1;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end == begin) {
      request.body = text.substr(end + 1);
      break;
    }
    AddHeader(text.substr(begin, end - begin), &request);
    begin = end + 1;
  }
  return request;
}

struct SuiteContext {
  Credentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  std::string region = "us-east-1";
  std::string service = "service";
  std::string timestamp;
  int64_t lifetime = 0;
  bool normalize = true;
  bool sign_body = false;
  bool omit_token = false;
};

SuiteContext ParseContext(const std::string &text) {
  const JsonDocument document = *JsonDocument::Parse(text);
  const JsonValue root = document.Root();
  SuiteContext context;
  const JsonValue credentials = *root.Find("credentials");
  context.credentials.access_key = *credentials.Find("access_key_id")->Text();
  context.credentials.secret_key = *credentials.Find("secret_access_key")->Text();
  if (const auto token = credentials.Find("token")) {
    context.credentials.session_token = *token->Text();
  }
  context.region = *root.Find("region")->Text();
  context.service = *root.Find("service")->Text();
  context.timestamp = *root.Find("timestamp")->Text();
  context.lifetime = *root.Find("expiration_in_seconds")->Int();
  context.normalize = *root.Find("normalize")->Bool();
  context.sign_body = *root.Find("sign_body")->Bool();
  if (const auto omit = root.Find("omit_session_token")) context.omit_token = *omit->Bool();
  return context;
}

SigningOptions OptionsOf(const SuiteContext &context) {
  SigningOptions options;
  options.region = context.region;
  options.service = context.service;
  options.time = SecondsOf(context.timestamp);
  options.normalize_path = context.normalize;
  options.add_content_hash = context.sign_body;
  options.sign_session_token = !context.omit_token;
  return options;
}

class SuiteTest : public testing::TestWithParam<std::string> {
 protected:
  fs::path File(const char *name) const { return kVectors / "sigv4" / GetParam() / name; }

  void SetUp() override {
    request_ = ParseRequest(ReadText(File("request.txt")));
    context_ = ParseContext(ReadText(File("context.json")));
    payload_hash_ = ToHex(*Sha256(request_.body));
    to_sign_ = request_.ToSign();
    to_sign_.payload_hash = payload_hash_;
  }

  void ExpectAgrees(const std::string &form, const Signature &signature) const {
    EXPECT_EQ(signature.canonical_request,
              ReadExpected(File((form + "-canonical-request.txt").c_str())));
    EXPECT_EQ(signature.string_to_sign, ReadExpected(File((form + "-string-to-sign.txt").c_str())));
    EXPECT_EQ(signature.hex, ReadExpected(File((form + "-signature.txt").c_str())));
  }

  SuiteRequest request_;
  SuiteContext context_;
  std::string payload_hash_;
  SigningRequest to_sign_;
};

TEST_P(SuiteTest, InHeaders) {
  const auto signature = SignHeaders(to_sign_, context_.credentials, OptionsOf(context_));
  ASSERT_TRUE(signature.IsOk()) << signature.GetStatus().Message();
  ExpectAgrees("header", *signature);
  const std::string sent = ReadText(File("header-signed-request.txt"));
  for (const net::Header &header : signature->headers) {
    if (header.name == "host") continue;
    const std::string lower = ToLower(sent);
    EXPECT_NE(lower.find(ToLower(StrCat(header.name, ":", header.value, "\n"))), std::string::npos)
        << header.name;
  }
}

TEST_P(SuiteTest, InTheQuery) {
  const auto signature =
      SignQuery(to_sign_, context_.credentials, OptionsOf(context_), context_.lifetime);
  ASSERT_TRUE(signature.IsOk()) << signature.GetStatus().Message();
  ExpectAgrees("query", *signature);
  // The URL of the suite has the parameters in another order.
  const std::string sent = ReadText(File("query-signed-request.txt"));
  for (const std::string &pair : SplitList(signature->query, '&')) {
    const std::string name = pair.substr(0, pair.find('='));
    if (!name.starts_with("X-Amz-")) continue;
    EXPECT_NE(sent.find(pair), std::string::npos) << pair;
  }
}

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto &folder : fs::directory_iterator(kVectors / "sigv4")) {
    if (fs::exists(folder.path() / "context.json")) names.push_back(folder.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Aws, SuiteTest, testing::ValuesIn(Cases()), [](const auto &test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Two cases in an older form, without a context.
TEST(SuiteOldFormTest, PathsAreEncodedAgain) {
  for (const char *name : {"double-encode-path", "double-url-encode"}) {
    const fs::path folder = kVectors / "sigv4" / name;
    const SuiteRequest request = ParseRequest(ReadText(folder / "request.txt"));
    SigningOptions options = OptionsOf(SuiteContext{.timestamp = "20210511T154045Z"});
    options.region = "us-east-2";
    options.service = "lambda";
    options.encode_path_again = true;
    const auto signature = SignHeaders(request.ToSign(), SuiteContext().credentials, options);
    ASSERT_TRUE(signature.IsOk());
    EXPECT_EQ(signature->canonical_request, ReadExpected(folder / "header-canonical-request.txt"));
    if (fs::exists(folder / "header-string-to-sign.txt")) {
      EXPECT_EQ(signature->string_to_sign, ReadExpected(folder / "header-string-to-sign.txt"));
    }
  }
}

TEST(SuiteOldFormTest, HasAllFortyCases) { EXPECT_EQ(Cases().size() + 2, 40U); }

class S3ExamplesTest : public testing::Test {
 protected:
  void SetUp() override {
    const JsonValue root = document_.Root();
    credentials_ = {*root.Find("access_key")->Text(), *root.Find("secret_key")->Text(), ""};
    time_ = *root.Find("amz_date")->Text();
    scope_ = *root.Find("scope")->Text();
    options_.region = "us-east-1";
    options_.service = "s3";
    options_.time = SecondsOf(time_);
  }

  std::vector<JsonValue> OfKind(std::string_view kind) const {
    std::vector<JsonValue> found;
    for (const JsonValue &item : document_.Root().Find("cases")->Items()) {
      if (Text(item, "kind") == kind) found.push_back(item);
    }
    return found;
  }

  static std::string Text(const JsonValue &object, std::string_view key) {
    const auto value = object.Find(key);
    return value ? *value->Text() : "";
  }

  // Returns the signature of one chunk of a chunked body.
  std::string ChunkSignature(std::string_view kind, const std::string &previous,
                             const std::string &hashes) const {
    const Sha256Digest key = *DeriveSigningKey(credentials_.secret_key, time_.substr(0, 8),
                                               options_.region, options_.service);
    return ToHex(*HmacSha256(key, StrCat("AWS4-HMAC-SHA256-", kind, "\n", time_, "\n", scope_, "\n",
                                         previous, "\n", hashes)));
  }

  JsonDocument document_ = *JsonDocument::Parse(ReadText(kVectors / "sigv4_s3_examples.json"));
  Credentials credentials_;
  SigningOptions options_;
  std::string time_;
  std::string scope_;
};

TEST_F(S3ExamplesTest, Headers) {
  const std::vector<JsonValue> cases = OfKind("header");
  EXPECT_EQ(cases.size(), 6U);
  for (const JsonValue &item : cases) {
    SCOPED_TRACE(Text(item, "name"));
    std::string host;
    std::vector<net::Header> headers;
    for (const auto &[name, value] : item.Find("signed_headers")->Members()) {
      if (name == "host") host = *value.Text();
      if (name == "host" || name == "x-amz-date" || name == "x-amz-content-sha256") continue;
      headers.push_back({name, *value.Text()});
    }
    const std::string method = Text(item, "method");
    const std::string path = Text(item, "canonical_uri");
    const std::string hash = Text(item, "payload_hash");
    const auto query = Parameters(Text(item, "canonical_query"));
    const auto signature =
        SignHeaders({method, path, query, host, headers, hash}, credentials_, options_);
    ASSERT_TRUE(signature.IsOk());
    EXPECT_EQ(ToHex(*Sha256(signature->canonical_request)), Text(item, "canonical_request_sha256"));
    EXPECT_EQ(signature->hex, Text(item, "expected_signature"));
    // The reference writes the same header without blanks.
    std::string authorization = signature->headers.back().value;
    size_t comma = 0;
    while ((comma = authorization.find(", ", comma)) != std::string::npos) {
      authorization.erase(comma + 1, 1);
    }
    EXPECT_EQ(authorization, Text(item, "authorization"));
  }
}

TEST_F(S3ExamplesTest, PresignedUrl) {
  for (const JsonValue &item : OfKind("query")) {
    SigningRequest request{.method = "GET", .path = "/test.txt"};
    request.host = "examplebucket.s3.amazonaws.com";
    request.payload_hash = kUnsignedPayload;
    const auto signature = SignQuery(request, credentials_, options_, 86400);
    ASSERT_TRUE(signature.IsOk());
    EXPECT_EQ(ToHex(*Sha256(signature->canonical_request)), Text(item, "canonical_request_sha256"));
    EXPECT_EQ(signature->hex, Text(item, "expected_signature"));
    EXPECT_EQ(signature->query, StrCat(Text(item, "canonical_query"),
                                       "&X-Amz-Signature=", Text(item, "expected_signature")));
  }
}

TEST_F(S3ExamplesTest, SigningKeys) {
  EXPECT_EQ(ToHex(*DeriveSigningKey(credentials_.secret_key, "20130524", "us-east-1", "s3")),
            Text(document_.Root(), "signing_key_hex"));
  for (const JsonValue &item : OfKind("signing-key")) {
    EXPECT_EQ(ToHex(*DeriveSigningKey(Text(item, "secret"), Text(item, "date"),
                                      Text(item, "region"), Text(item, "service"))),
              Text(item, "expected_hex"));
  }
}

// Not sent by this library; the key and the chain of digests are the same.
TEST_F(S3ExamplesTest, ChunksAndTrailers) {
  for (const JsonValue &item : OfKind("aws-chunked")) {
    std::string previous = Text(item, "seed_signature");
    const std::vector<JsonValue> expected = item.Find("expected_chunk_signatures")->Items();
    const std::array<size_t, 3> sizes = {65536, 1024, 0};
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string hash = ToHex(*Sha256(std::string(sizes[i], 'a')));
      previous = ChunkSignature("PAYLOAD", previous, StrCat(kEmptyPayloadHash, "\n", hash));
      EXPECT_EQ(previous, *expected[i].Text());
    }
    if (const std::string trailer = Text(item, "trailer"); !trailer.empty()) {
      const std::string hash = ToHex(*Sha256(trailer + "\n"));
      EXPECT_EQ(ChunkSignature("TRAILER", previous, hash),
                Text(item, "expected_trailer_signature"));
    }
  }
}

}  // namespace
}  // namespace smdebug::aws::sigv4_vectors_test
