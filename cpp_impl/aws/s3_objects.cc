#include "aws/s3_objects.h"

#include <algorithm>

#include "aws/base64.h"
#include "aws/s3_call.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/strings.h"
#include "net/http_date.h"
#include "net/uri.h"
#include "net/xml.h"

namespace smdebug::aws {
namespace {

// S3's own page size, and more pages than any real listing has.
constexpr uint32_t kPageSize = 1000;
constexpr int kMostPages = 100'000;
// Consecutive empty pages, which removed keys may leave.
constexpr int kMostEmptyPages = 1000;

S3Request TextRequest(const std::string &key, uint64_t limit) {
  S3Request request{.action = "reading"};
  request.key = key;
  request.headers = {{"x-amz-checksum-mode", "ENABLED"}};
  request.body_limit = limit;
  return request;
}

S3Request RangeRequest(const ObjectRange &range) {
  S3Request request{.action = "reading"};
  request.key = range.key;
  request.sink = range.sink;
  request.range_offset = range.offset;
  request.range_length = range.length;
  return request;
}

Status FinishRange(const S3Client &client, const ObjectRange &range, S3Call &call) {
  const auto response = call.Wait();
  if (response.IsOk()) return Status::Ok();
  Status failure = response.GetStatus();
  const std::string *status = failure.Detail("http_status");
  if (status == nullptr || *status != "416") return failure;
  return CorruptData(client.LocationOf(range.key), StrCat(range.length, " bytes at ", range.offset,
                                                          " are beyond the end of the object"));
}

// The checksum of a multipart object ends in "-" and the number of parts; it is skipped.
Status CheckText(const S3Client &client, const std::string &key, const net::Response &response) {
  const std::string *checksum = response.Find("x-amz-checksum-crc32c");
  if (checksum == nullptr || checksum->find('-') != std::string::npos) return Status::Ok();
  if (*checksum == ChecksumText(ExtendCrc32c(0, AsBytes(response.body)))) return Status::Ok();
  return CorruptData(client.LocationOf(key), "does not match the checksum that the service stores");
}

Result<std::string> FinishText(S3Client &client, const std::string &key, uint64_t limit,
                               S3Call &call) {
  auto answer = call.Wait();
  // Without a sink, an oversized body is the only cause of CORRUPT_DATA.
  if (answer.GetStatus().GetCode() == Code::kCorruptData) {
    const std::string location = client.LocationOf(key);
    return Unsupported(
               StrCat(location, ": has more bytes than this kind of file may have (", limit, ")"))
        .With("path", location);
  }
  SMD_ASSIGN_OR_RETURN(net::Response response, std::move(answer));
  if (!CheckText(client, key, response).IsOk()) {
    // Reads it again: it may have been damaged only in transit.
    SMD_ASSIGN_OR_RETURN(response, Call(client, TextRequest(key, limit)));
    SMD_RETURN_IF_ERROR(CheckText(client, key, response));
  }
  return std::move(response.body);
}

S3Request HeadRequest(const std::string &key) {
  S3Request request{.action = "looking for it", .method = "HEAD"};
  request.key = key;
  return request;
}

// Returns true if a refusal has no reason: the answer to a HEAD has no body.
bool IsUnexplained(const Status &failure) {
  const std::string *status = failure.Detail("http_status");
  return status != nullptr && (*status == "400" || *status == "403") &&
         failure.Detail("s3_code") == nullptr;
}

// Sends a GET to learn the reason.  Succeeds if the reason is gone, for example because
// expired credentials were renewed.
Status AskForReason(S3Client &client, const std::string &key) {
  S3Request request = TextRequest(key, 4096);
  request.headers = {{"range", "bytes=0-0"}};
  const Status answer = Call(client, std::move(request)).GetStatus();
  const std::string *status = answer.Detail("http_status");
  const bool is_empty = status != nullptr && *status == "416";
  // The service sent more than requested, so it does answer.
  const bool is_whole = answer.GetCode() == Code::kCorruptData;
  return is_empty || is_whole ? Status::Ok() : answer;
}

struct Page {
  std::vector<ListedObject> objects;
  std::string next;  // token; empty at the end
};

Status AddObjects(const net::Element &list, std::string_view group, std::string_view name,
                  std::vector<ListedObject> *objects) {
  const bool is_encoded = list.TextOf("EncodingType") == "url";
  for (const net::Element *element : list.FindAll(group)) {
    ListedObject object{.key = std::string(element->TextOf(name)),
                        .etag = std::string(element->TextOf("ETag"))};
    if (is_encoded) {
      SMD_ASSIGN_OR_RETURN(object.key, net::PercentDecode(object.key, net::Pluses::kAreSpaces));
    }
    object.modified_at = net::ParseIsoDate(element->TextOf("LastModified")).value_or(0);
    object.size =
        static_cast<uint64_t>(std::max<int64_t>(ParseInt(element->TextOf("Size")).value_or(0), 0));
    objects->push_back(std::move(object));
  }
  return Status::Ok();
}

bool IsBefore(const ListedObject &a, const ListedObject &b) { return a.key < b.key; }

Result<Page> ParsePage(std::string_view body, bool has_groups) {
  SMD_ASSIGN_OR_RETURN(const net::Element list, net::ParseXml(body));
  if (list.name != "ListBucketResult") {
    return CorruptData("the answer", StrCat("is a <", list.name, ">, not a <ListBucketResult>"));
  }
  Page page;
  SMD_RETURN_IF_ERROR(AddObjects(list, "Contents", "Key", &page.objects));
  if (has_groups) {
    SMD_RETURN_IF_ERROR(AddObjects(list, "CommonPrefixes", "Prefix", &page.objects));
    std::sort(page.objects.begin(), page.objects.end(), IsBefore);
  }
  if (list.TextOf("IsTruncated") == "true") {
    page.next = list.TextOf("NextContinuationToken");
    if (page.next.empty()) {
      return CorruptData("the answer", "has more entries but no continuation token");
    }
  }
  return page;
}

Result<Page> GetPage(S3Client &client, const ListQuery &query, const std::string &token) {
  S3Request request{.action = "listing", .prefix = query.prefix};
  const uint32_t size = query.most == 0 ? kPageSize : std::min(query.most, kPageSize);
  request.query = {{"list-type", "2"},
                   {"encoding-type", "url"},
                   {"max-keys", std::to_string(size)},
                   {"prefix", query.prefix}};
  const std::string delimiter = query.is_flat ? "/" : query.delimiter;
  if (!delimiter.empty()) request.query.push_back({"delimiter", delimiter});
  if (!token.empty()) {
    request.query.push_back({"continuation-token", token});
  } else if (!query.start_after.empty()) {
    request.query.push_back({"start-after", query.start_after});
  }
  SMD_ASSIGN_OR_RETURN(const net::Response response, Call(client, std::move(request)));
  auto page = ParsePage(response.body, !query.delimiter.empty());
  if (page.IsOk()) return page;
  const std::string location = client.LocationOf(query.prefix);
  return Status(Code::kCorruptData,
                StrCat(location, ": listing failed: ", page.GetStatus().Message()))
      .With("path", location);
}

}  // namespace

Result<std::optional<ObjectInfo>> HeadObject(S3Client &client, const std::string &key) {
  auto response = Call(client, HeadRequest(key));
  if (IsUnexplained(response.GetStatus())) {
    const Status reason = AskForReason(client, key);
    response = reason.IsOk() ? Call(client, HeadRequest(key)) : Result<net::Response>(reason);
  }
  if (!response.IsOk()) {
    if (response.GetStatus().GetCode() == Code::kNotFound) return std::optional<ObjectInfo>();
    return response.GetStatus();
  }
  ObjectInfo info;
  if (const std::string *length = response->Find("content-length")) {
    info.size = static_cast<uint64_t>(std::max<int64_t>(0, ParseInt(*length).value_or(0)));
  }
  if (const std::string *etag = response->Find("etag")) info.etag = *etag;
  if (const std::string *modified = response->Find("last-modified")) {
    info.modified_at = net::ParseHttpDate(*modified).value_or(0);
  }
  return std::optional<ObjectInfo>(info);
}

Status GetRange(S3Client &client, const ObjectRange &range) {
  if (range.length == 0) return Status::Ok();
  S3Call call(client, RangeRequest(range));
  return FinishRange(client, range, call);
}

std::vector<Status> GetRanges(S3Client &client, std::span<const ObjectRange> ranges) {
  std::vector<std::unique_ptr<S3Call>> calls;
  calls.reserve(ranges.size());
  for (const ObjectRange &range : ranges) {
    calls.push_back(std::make_unique<S3Call>(client, RangeRequest(range)));
  }
  std::vector<Status> answers;
  answers.reserve(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    answers.push_back(FinishRange(client, ranges[i], *calls[i]));
    calls[i].reset();
  }
  return answers;
}

std::vector<Result<std::string>> GetTexts(S3Client &client, const std::vector<std::string> &keys,
                                          uint64_t limit) {
  std::vector<std::unique_ptr<S3Call>> calls;
  calls.reserve(keys.size());
  for (const std::string &key : keys) {
    calls.push_back(std::make_unique<S3Call>(client, TextRequest(key, limit)));
  }
  std::vector<Result<std::string>> texts;
  texts.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    texts.push_back(FinishText(client, keys[i], limit, *calls[i]));
    calls[i].reset();
  }
  return texts;
}

Status PutObject(S3Client &client, const std::string &key, std::vector<ByteSpan> body) {
  S3Request request{.action = "writing", .method = "PUT"};
  request.key = key;
  request.body = std::move(body);
  return Call(client, std::move(request)).GetStatus();
}

Status DeleteObject(S3Client &client, const std::string &key) {
  S3Request request{.action = "removing", .method = "DELETE"};
  request.key = key;
  const Status removed = Call(client, std::move(request)).GetStatus();
  return removed.GetCode() == Code::kNotFound ? Status::Ok() : removed;
}

Result<std::vector<ListedObject>> ListObjects(S3Client &client, const ListQuery &query) {
  const std::string location = client.LocationOf(query.prefix);
  std::vector<ListedObject> objects;
  std::string token;
  int empty_pages = 0;
  for (int pages = 0; pages < kMostPages && empty_pages < kMostEmptyPages; ++pages) {
    SMD_ASSIGN_OR_RETURN(Page page, GetPage(client, query, token));
    const bool is_new =
        objects.empty() || page.objects.empty() || IsBefore(objects.back(), page.objects.front());
    if (!is_new || (!token.empty() && page.next == token)) break;
    const size_t before = objects.size();
    for (ListedObject &object : page.objects) {
      if (!object.key.starts_with(query.prefix)) {
        return CorruptData(location, StrCat("listing failed: the service returned '",
                                            Excerpt(object.key), "', which was not requested"));
      }
      objects.push_back(std::move(object));
    }
    empty_pages = objects.size() == before ? empty_pages + 1 : 0;
    const bool is_enough = query.most != 0 && objects.size() >= query.most;
    if (page.next.empty() || is_enough) return objects;
    token = std::move(page.next);
  }
  return CorruptData(location, "listing does not end: the service repeats a page");
}

Result<std::vector<std::string>> ListKeys(S3Client &client, const ListQuery &query) {
  SMD_ASSIGN_OR_RETURN(std::vector<ListedObject> objects, ListObjects(client, query));
  std::vector<std::string> keys;
  keys.reserve(objects.size());
  for (ListedObject &object : objects) keys.push_back(std::move(object.key));
  return keys;
}

}  // namespace smdebug::aws
