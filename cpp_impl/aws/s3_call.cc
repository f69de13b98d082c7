#include "aws/s3_call.h"

#include <cmath>

#include "aws/base64.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "net/http_date.h"
#include "net/xml.h"

namespace smdebug::aws {
namespace {

// The difference in seconds that S3 tolerates between its clock and ours.
constexpr double kToleratedSkew = 900;
// No clock is wrong by more than a century: then the service's date is.
constexpr double kMostSkew = 100 * 365.25 * 86400;

std::string HeaderOr(const net::Response &response, std::string_view name) {
  const std::string *found = response.Find(name);
  return found == nullptr ? std::string() : *found;
}

// Fills in the error from a body that is an <Error>; otherwise leaves it unchanged.
void ReadErrorBody(const Result<net::Element> &document, S3Error *error) {
  if (!document.IsOk() || document->name != "Error") return;
  error->code = document->TextOf("Code");
  error->message = document->TextOf("Message");
  if (error->region.empty()) error->region = document->TextOf("Region");
  if (error->request_id.empty()) error->request_id = document->TextOf("RequestId");
}

bool IsSuccess(int http_status) { return http_status >= 200 && http_status < 300; }

// Clears every part of the answer that contains a secret, so that no message quotes it.
void Censor(const Credentials &credentials, S3Error *error) {
  constexpr size_t kShortest = 8;  // shorter texts are part of many words by chance
  for (const std::string *secret : {&credentials.secret_key, &credentials.session_token}) {
    if (secret->size() < kShortest) continue;
    for (std::string *said : {&error->code, &error->message, &error->region, &error->request_id}) {
      if (said->find(*secret) != std::string::npos) said->clear();
    }
  }
}

}  // namespace

S3Call::S3Call(S3Client &client, S3Request request)
    : client_(client),
      request_(std::move(request)),
      progress_(request_.sink, request_.range_length),
      headers_(request_.headers),
      retries_(client.Parts().retry, client.Budget(), client.Parts().random) {
  // Only for PUT: with a POST this header is the checksum of the future object.
  if (request_.method == "PUT") {
    uint32_t crc32c = 0;
    for (const ByteSpan piece : request_.body) crc32c = ExtendCrc32c(crc32c, piece);
    headers_.push_back({"x-amz-checksum-crc32c", ChecksumText(crc32c)});
  }
  auto hash = client_.HashPayload(request_.body);
  if (hash.IsOk()) {
    payload_hash_ = *std::move(hash);
    not_begun_ = Begin();
  } else {
    not_begun_ = hash.GetStatus();
  }
}

Status S3Call::Begin() {
  exchange_.reset();
  attempt_begin_ = progress_.Received();
  request_.headers = headers_;
  if (request_.sink != nullptr) SMD_RETURN_IF_ERROR(AddRange());
  SMD_ASSIGN_OR_RETURN(S3Client::Signed made, client_.Sign(request_, payload_hash_));
  if (request_.sink != nullptr) {
    made.request.sink = &progress_;
    made.request.sink_status = 206;
    made.request.sink_size = request_.range_length - attempt_begin_;
  }
  credentials_ = std::move(made.credentials);
  exchange_ = client_.Parts().http->Start(std::move(made.request));
  return Status::Ok();
}

std::string S3Call::Location() const {
  return client_.LocationOf(request_.key.empty() ? request_.prefix : request_.key);
}

Status S3Call::AddRange() {
  const uint64_t first = request_.range_offset + attempt_begin_;
  const uint64_t last = request_.range_offset + request_.range_length - 1;
  if (last < first) {
    return CorruptData(Location(),
                       StrCat(request_.range_length, " bytes at ", request_.range_offset,
                              " are beyond the end of any object"));
  }
  request_.headers.push_back({"range", StrCat("bytes=", first, "-", last)});
  return Status::Ok();
}

// Checks that the answer is the requested range.
Status S3Call::CheckRange(const net::Response &response) const {
  const std::string location = Location();
  if (response.status != 206) {
    return CorruptData(location,
                       StrCat("the service answered a range request with HTTP ", response.status));
  }
  const std::string expected = StrCat("bytes ", request_.range_offset + attempt_begin_, "-");
  const std::string range = HeaderOr(response, "content-range");
  if (!range.starts_with(expected)) {
    return CorruptData(location, StrCat("the service returned another range (", range.substr(0, 64),
                                        ") than the requested one (", expected, "...)"));
  }
  if (progress_.Received() < request_.range_length) {
    return CorruptData(
        location,
        StrCat("the object is truncated: it ends at ", request_.range_offset + progress_.Received(),
               ", ", request_.range_length - progress_.Received(), " bytes too early"));
  }
  return Status::Ok();
}

bool S3Call::HasWholeRange() const {
  return request_.sink != nullptr && progress_.Received() == request_.range_length;
}

S3Error S3Call::Read(const net::Response &response) const {
  S3Error error{.http_status = response.status};
  error.region = HeaderOr(response, "x-amz-bucket-region");
  error.request_id = HeaderOr(response, "x-amz-request-id");
  const auto document = net::ParseXml(response.body);
  ReadErrorBody(document, &error);
  Censor(credentials_, &error);
  // The service sent status 200 before it did the work, so without a result it means nothing.
  const bool is_done = document.IsOk() && document->name.ends_with("Result");
  if (IsSuccess(response.status) && !is_done && error.code.empty()) {
    error.code = "InternalError";
    error.message = "the answer does not confirm success";
  }
  return error;
}

bool S3Call::CorrectRegion(const S3Error &error) {
  const bool is_redirect = error.http_status == 301 || error.http_status == 307;
  const bool is_asked = is_redirect || error.code == "AuthorizationHeaderMalformed" ||
                        error.code == "IllegalLocationConstraintException" ||
                        (request_.method == "HEAD" && error.http_status == 400);
  if (!is_asked || has_moved_ || error.region.empty()) return false;
  has_moved_ = true;
  // Another call may have moved the client in the meantime, which also corrects the region.
  return client_.MoveTo(error.region) || client_.Endpoint().region == error.region;
}

bool S3Call::CorrectClock(const S3Error &error, const net::Response &response) {
  const bool is_said = error.code == "RequestTimeTooSkewed" || error.code == "RequestExpired";
  // The answer to a HEAD has no body that could report it.
  const bool may_be = request_.method == "HEAD" && error.http_status == 403;
  if ((!is_said && !may_be) || has_set_clock_) return false;
  const std::optional<double> date = net::ParseHttpDate(HeaderOr(response, "date"));
  if (!date) return false;
  const double ours = client_.Parts().clock->WallSeconds() + client_.Skew();
  const double skew = std::abs(*date - ours);
  if (skew > kMostSkew || (!is_said && skew < kToleratedSkew)) return false;
  has_set_clock_ = true;
  if (client_.SetTime(*date)) {
    client_.Parts().logger.Warning(StrCat(client_.LocationOf(""),
                                          ": this machine's clock is wrong by ",
                                          static_cast<int64_t>(std::abs(client_.Skew())),
                                          " seconds; requests use the service's time"));
  }
  return true;
}

bool S3Call::CorrectCredentials(const S3Error &error) {
  const bool is_expired = error.code == "ExpiredToken" || error.code == "TokenRefreshRequired" ||
                          error.code == "ExpiredTokenException";
  if (!is_expired || has_renewed_) return false;
  has_renewed_ = true;
  client_.Parts().credentials->Refuse(credentials_);
  const auto renewed = client_.Parts().credentials->Get();
  return renewed.IsOk() && renewed->session_token != credentials_.session_token;
}

bool S3Call::Correct(const S3Error &error, const net::Response &response) {
  return CorrectRegion(error) || CorrectClock(error, response) || CorrectCredentials(error);
}

Status S3Call::About(const Status &failure) const {
  const std::string location = Location();
  if (failure.Detail("path") != nullptr) return failure;
  const std::string tries =
      retries_.Attempts() > 1 ? StrCat(" (", retries_.Attempts(), " attempts)") : std::string();
  Status about(failure.GetCode(),
               StrCat(location, ": ", request_.action, " failed", tries, ": ", failure.Message()));
  if (const std::string *cause = failure.Detail("cause")) about = about.With("cause", *cause);
  return std::move(about).With("path", location);
}

Result<net::Response> S3Call::Finish() {
  SMD_RETURN_IF_ERROR(not_begun_);
  return exchange_->Wait();
}

Result<net::Response> S3Call::Wait() {
  while (true) {
    Result<net::Response> response = Finish();
    Status failure = response.GetStatus();
    RetryKind kind = RetryKind::kNone;
    std::optional<Clock::Duration> asked;
    if (response.IsOk()) {
      const bool is_plain = IsSuccess(response->status) && !request_.may_fail_late;
      const S3Error error = is_plain ? S3Error{} : Read(*response);
      if (is_plain || (IsSuccess(response->status) && error.code.empty())) {
        retries_.Succeeded();
        if (request_.sink != nullptr) SMD_RETURN_IF_ERROR(CheckRange(*response));
        return response;
      }
      if (Correct(error, *response)) {
        not_begun_ = Begin();
        continue;
      }
      failure = S3Failure(request_.action, Location(), credentials_.source, error);
      kind = Classify(response->status, error.code);
      asked = RetryAfter(*response);
    } else {
      kind = Classify(failure);
      // The whole range arrived; only the end of the connection or of the last chunk is lost.
      if (kind != RetryKind::kNone && HasWholeRange()) return net::Response{206, {}, {}, 0};
    }
    const std::optional<Clock::Duration> delay = retries_.Next(kind, asked);
    if (!delay) return About(failure);
    Pause(*client_.Parts().clock, *delay);
    not_begun_ = Begin();
  }
}

Result<net::Response> Call(S3Client &client, S3Request request) {
  S3Call call(client, std::move(request));
  return call.Wait();
}

}  // namespace smdebug::aws
