// Measures the S3 client for bench_s3.py: prints the seconds of one job.
// usage: smdebug_s3_client put|get|list s3://bucket/prefix COUNT BYTES CONCURRENCY
// Endpoint and credentials come from the environment.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "aws/endpoint.h"
#include "aws/s3_call.h"
#include "aws/s3_objects.h"
#include "base/strings.h"
#include "storage/s3_store.h"

namespace {

using namespace smdebug;

void Check(const Status &status) {
  if (status.IsOk()) return;
  std::fprintf(stderr, "%s\n", status.Message().c_str());
  std::exit(1);
}

struct Job {
  std::shared_ptr<aws::S3Client> client;
  std::string prefix;
  size_t count;
  size_t size;
  size_t concurrency;

  std::string KeyOf(size_t i) const { return StrCat(prefix, "/", i); }
};

// Keeps as many requests in flight as the job requests.
template <class MakeRequest>
void RunAll(const Job &job, const MakeRequest &make_request) {
  std::deque<std::unique_ptr<aws::S3Call>> under_way;
  const auto finish_one = [&] {
    Check(under_way.front()->Wait().GetStatus());
    under_way.pop_front();
  };
  for (size_t i = 0; i < job.count; ++i) {
    if (under_way.size() == job.concurrency) finish_one();
    under_way.push_back(std::make_unique<aws::S3Call>(*job.client, make_request(i)));
  }
  while (!under_way.empty()) finish_one();
}

void Put(const Job &job) {
  const std::string content(job.size, 'x');
  RunAll(job, [&](size_t i) {
    aws::S3Request request{.action = "writing", .method = "PUT"};
    request.key = job.KeyOf(i);
    request.body = {AsBytes(content)};
    return request;
  });
}

void Get(const Job &job) {
  std::vector<std::byte> content(job.size * job.count);
  std::deque<SpanSink> sinks;
  RunAll(job, [&](size_t i) {
    sinks.emplace_back(MutableByteSpan(content).subspan(i * job.size, job.size));
    aws::S3Request request{.action = "reading"};
    request.key = job.KeyOf(i);
    request.sink = &sinks.back();
    request.range_length = job.size;
    return request;
  });
}

void List(const Job &job) {
  const auto keys = aws::ListKeys(*job.client, {.prefix = job.prefix + "/"});
  Check(keys.GetStatus());
  if (keys->size() != job.count) Check(Status(Code::kInternal, "keys are missing"));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  const auto location = aws::ParseS3Url(argv[2]);
  Check(location.GetStatus());
  const auto client = storage::OpenS3Client(location->bucket, {}, {});
  Check(client.GetStatus());
  const auto number = [&](int i) { return static_cast<size_t>(std::atoll(argv[i])); };
  const Job job{*client, location->prefix, number(3), number(4), number(5)};
  const std::string what = argv[1];
  const auto begin = std::chrono::steady_clock::now();
  if (what == "put") Put(job);
  if (what == "get") Get(job);
  if (what == "list") List(job);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%f\n", seconds.count());
}
