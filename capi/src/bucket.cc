#include "smdebug/sys/bucket.h"

#include "guard.h"
#include "handles.h"
#include "storage/bucket.h"

using namespace smdebug;
using namespace smdebug::capi;

struct smd_bucket {
  storage::Bucket bucket;

  const ProcessMark &Mark() const { return bucket.Mark(); }
};

smd_error *smd_bucket_open(const char *name, const smd_hook_options *options,
                           smd_bucket **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_ASSIGN_OR_RETURN(const std::string_view wanted, RequiredText(name, "name"));
    const record::HookOptions defaults;
    const record::HookOptions &given = options == nullptr ? defaults : options->options;
    return Give(storage::Bucket::Open(wanted, given.store_options, given.logger), out);
  });
}

smd_error *smd_bucket_list(const smd_bucket *bucket, const char *prefix, const char *start_after,
                           const char *delimiter, smd_strings **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(bucket, "bucket"));
    return Give(bucket->bucket.List(
                    {OptionalText(prefix), OptionalText(start_after), OptionalText(delimiter)}),
                out);
  });
}

smd_error *smd_bucket_read(const smd_bucket *bucket, const char *key, int64_t offset,
                           int64_t length, smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(bucket, "bucket"));
    SMD_ASSIGN_OR_RETURN(const std::string_view wanted, RequiredText(key, "key"));
    if (offset < 0 || length < -1) {
      return InvalidArgument(
          StrCat("offset ", offset, ", length ", length,
                 ": use an offset of 0 or more, and a length of 0 or more, or -1 for the rest"));
    }
    const auto most = length < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(length));
    return Give(bucket->bucket.Read(std::string(wanted), static_cast<uint64_t>(offset), most), out);
  });
}

smd_error *smd_bucket_write(const smd_bucket *bucket, const char *key, const void *data,
                            size_t size) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(bucket, "bucket"));
    SMD_ASSIGN_OR_RETURN(const std::string_view wanted, RequiredText(key, "key"));
    if (size > 0) SMD_RETURN_IF_ERROR(NotNull(data, "data"));
    return bucket->bucket.Write(std::string(wanted), {static_cast<const std::byte *>(data), size});
  });
}

smd_error *smd_bucket_remove(const smd_bucket *bucket, const char *key) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(bucket, "bucket"));
    SMD_ASSIGN_OR_RETURN(const std::string_view wanted, RequiredText(key, "key"));
    return bucket->bucket.Remove(std::string(wanted));
  });
}

void smd_bucket_free(smd_bucket *bucket) noexcept { Free(bucket); }
