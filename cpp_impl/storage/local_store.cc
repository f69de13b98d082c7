#include "storage/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <ranges>
#include <thread>

#include "base/environment.h"
#include "base/strings.h"
#include "storage/file_lock.h"
#include "storage/local_listing.h"
#include "storage/local_watcher.h"

namespace smdebug::storage {

// Keeps the trial's folder open.
class LocalRoot {
 public:
  LocalRoot(FileDescriptor folder, std::string path)
      : folder_(std::move(folder)),
        path_(std::move(path)),
        has_locks_(HasExactLocks(folder_.Number())) {}

  int Number() const { return folder_.Number(); }
  bool HasLocks() const { return has_locks_; }

  // Makes the folder's own name durable, and the names of its ancestors.  This run may have created
  // them, or an earlier run that died.
  Status SyncName() {
    if (is_synced_) return Status::Ok();
    std::string above = path_;
    while (above.size() > 1) {
      above.resize(std::max(above.rfind('/'), size_t{1}));
      const FileDescriptor opened(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (opened.IsOpen() && fsync(opened.Number()) == 0) continue;
      // If the process cannot create or sync names there, nothing needs a sync.
      if (errno != EACCES && errno != EPERM && errno != EROFS && errno != EINVAL) {
        return SystemError("syncing the folder of", path_, errno);
      }
    }
    is_synced_ = true;
    return Status::Ok();
  }

 private:
  const FileDescriptor folder_;
  const std::string path_;  // absolute
  const bool has_locks_;
  std::atomic<bool> is_synced_{false};
};

namespace {

// A killed writer leaves its files in the folders of the newest steps.
constexpr int kMostFolders = 1000;

// A process that sweeps holds a file for microseconds.
constexpr int kMostTries = 100;

constexpr mode_t kFileMode = 0666;    // minus the process's umask
constexpr mode_t kFolderMode = 0777;  // minus the process's umask

class LocalReader final : public FileReader {
 public:
  LocalReader(FileDescriptor file, uint64_t size, std::string path)
      : file_(std::move(file)), size_(size), path_(std::move(path)) {}

  Result<uint64_t> Size() const override { return size_; }
  Status Read(uint64_t offset, uint64_t length, ByteSink &sink) const override {
    if (offset > size_ || length > size_ - offset) {
      return CorruptData(
          path_, StrCat(length, " bytes at ", offset, " lie beyond the file's end at ", size_));
    }
    return ReadAll(file_, offset, length, sink, path_);
  }

 private:
  FileDescriptor file_;
  uint64_t size_;
  std::string path_;
};

// Syncs a folder, which makes the names in it durable.
Status SyncFolder(int folder, const std::string &name, const std::string &path) {
  const FileDescriptor opened(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.IsOpen() && fsync(opened.Number()) == 0) return Status::Ok();
  return SystemError("syncing the folder of", path, errno);
}

// Resolves names relative to the trial's folder, which stays open.
class LocalWriter final : public FileWriter {
 public:
  struct Names {
    std::string temporary;
    std::string last;
    std::string path;  // for messages
  };

  LocalWriter(std::shared_ptr<LocalRoot> root, FileDescriptor file, Names names, Store::Older older)
      : root_(std::move(root)), file_(std::move(file)), names_(std::move(names)), older_(older) {}

  ~LocalWriter() override {
    if (has_temporary_) unlinkat(root_->Number(), names_.temporary.c_str(), 0);
  }

  Status Append(std::span<const Piece> pieces) override {
    return WriteAll(file_, pieces, names_.path);
  }

  Status Commit(bool durable) override {
    if (durable && fsync(file_.Number()) != 0) return SystemError("syncing", names_.path, errno);
    // Keeps the lock until the file has its name: before, others may remove a file without lock.
    const FileDescriptor lock(root_->HasLocks() ? fcntl(file_.Number(), F_DUPFD_CLOEXEC, 0) : -1);
    // Some file systems and quotas reject earlier writes only here.
    SMD_RETURN_IF_ERROR(file_.Close(names_.path));
    const int root = root_->Number();
    if (older_ == Store::Older::kReplace || !LinkUnlessThere()) {
      if (renameat(root, names_.temporary.c_str(), root, names_.last.c_str()) != 0) {
        return SystemError("renaming to its final name", names_.path, errno);
      }
      has_temporary_ = false;
    }
    return durable ? SyncFolders() : Status::Ok();
  }

  static std::string TemporaryName(const std::string &name) { return name + ".tmp"; }

 private:
  // Returns true if a file has the name now: this one, or one that was there.  Some file systems
  // have no links.
  bool LinkUnlessThere() {
    const int root = root_->Number();
    return linkat(root, names_.temporary.c_str(), root, names_.last.c_str(), 0) == 0 ||
           errno == EEXIST;
  }

  // A name is durable once every folder on its path is synced.
  Status SyncFolders() {
    std::string folder = names_.last;
    while (folder != ".") {
      const size_t slash = folder.rfind('/');
      folder = slash == std::string::npos ? "." : folder.substr(0, slash);
      SMD_RETURN_IF_ERROR(SyncFolder(root_->Number(), folder, names_.path));
    }
    return root_->SyncName();
  }

  const std::shared_ptr<LocalRoot> root_;
  FileDescriptor file_;
  const Names names_;
  const Store::Older older_;
  bool has_temporary_ = true;
};

Result<bool> IsSameFile(int file, int root, const std::string &name, const std::string &path) {
  struct stat opened {};
  struct stat named {};
  if (fstat(file, &opened) != 0) return SystemError("looking at", path, errno);
  if (fstatat(root, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return SystemError("looking at", path, errno);
  }
  return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Locks a temporary file for its writer.  Returns false if another process has just removed the
// file as a leftover.
bool LockForWriting(const LocalRoot &root, const FileDescriptor &file, const std::string &name) {
  if (!root.HasLocks()) return true;
  const LockResult lock = TryLock(file.Number(), LockKind::kShared);
  if (lock != LockResult::kTaken) return lock == LockResult::kFailed;
  const auto is_same = IsSameFile(file.Number(), root.Number(), name, name);
  return !is_same.IsOk() || *is_same;
}

// Holds a locked file.  The kernel releases the lock when the process exits, so a claim left behind
// by a killed process can be acquired.
class LocalClaim final : public Claim {
 public:
  LocalClaim(std::shared_ptr<LocalRoot> root, FileDescriptor file, std::string name)
      : root_(std::move(root)), file_(std::move(file)), name_(std::move(name)) {}
  ~LocalClaim() override {
    // If our file was removed meanwhile, the file of that name belongs to another process.
    const Result<bool> is_ours = IsSameFile(file_.Number(), root_->Number(), name_, name_);
    if (is_ours.IsOk() && *is_ours) unlinkat(root_->Number(), name_.c_str(), 0);
  }

 private:
  const std::shared_ptr<LocalRoot> root_;
  const FileDescriptor file_;
  const std::string name_;
};

std::string FolderOf(const std::string &name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

// Returns 0 if the folder now exists, else the error number.
int MakeFolders(const std::string &path) {
  if (mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return 0;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == 0) return errno;
  if (const int error = MakeFolders(path.substr(0, slash)); error != 0) return error;
  return mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST ? 0 : errno;
}

// Calls openat2.  If the kernel lacks or forbids it, returns -1 with ENOSYS.
int OpenAt2(int folder, const std::string &name, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned int>(flags);
  how.mode = (flags & O_CREAT) != 0 ? kFileMode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
}

// Opens the name part by part, without following links.
int OpenPartByPart(int folder, const std::string &name, int flags) {
  FileDescriptor here;
  size_t begin = 0;
  while (true) {
    const size_t slash = name.find('/', begin);
    const std::string part = name.substr(begin, slash - begin);
    if (part == "..") {
      errno = EXDEV;
      return -1;
    }
    const bool is_last = slash == std::string::npos;
    const int part_flags = is_last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC;
    const int at = here.IsOpen() ? here.Number() : folder;
    const int next = openat(at, part.c_str(), part_flags | O_NOFOLLOW, kFileMode);
    if (is_last || next < 0) return next;
    here = FileDescriptor(next);
    begin = slash + 1;
  }
}

// Opens a file below the folder without following symbolic links.  On failure returns -1 and sets
// errno.
int OpenWithoutLinks(int folder, const std::string &name, int flags) {
  const int number = OpenAt2(folder, name, flags | O_CLOEXEC);
  if (number >= 0 || (errno != ENOSYS && errno != EPERM && errno != E2BIG)) return number;
  return OpenPartByPart(folder, name, flags | O_CLOEXEC);
}

Status OpenError(std::string_view action, const std::string &path, int error) {
  if (error != ELOOP && error != EXDEV) return SystemError(action, path, error);
  return CorruptData(path, "leads out of the trial, or is a symbolic link; refused");
}

}  // namespace

Result<std::shared_ptr<Store>> LocalStore::At(std::string_view path) {
  std::string root(path);
  if (root == "~" || root.starts_with("~/")) {
    const std::optional<std::string> home = Environment("HOME");
    if (!home) return InvalidArgument(StrCat(path, ": '~' has no meaning, HOME is not set"));
    root.replace(0, 1, *home);
  }
  // The working folder may change later; the caller means the current one.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(root, error);
  if (error) return SystemError("finding the working folder for", path, error.value());
  root = absolute.lexically_normal().string();
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return std::shared_ptr<Store>(std::make_shared<LocalStore>(std::move(root)));
}

std::string LocalStore::PathOf(std::string_view name) const {
  return name.empty() ? root_path_ : StrCat(root_path_, "/", name);
}

Result<std::shared_ptr<LocalRoot>> LocalStore::Root() {
  const MutexLock lock(mutex_);
  if (root_) return root_;
  FileDescriptor opened(open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.IsOpen()) return SystemError("opening", root_path_, errno);
  root_ = std::make_shared<LocalRoot>(std::move(opened), root_path_);
  return root_;
}

void LocalStore::ForgetRoot() {
  const MutexLock lock(mutex_);
  root_.reset();
}

Result<FileDescriptor> LocalStore::OpenBelow(const std::string &name, int flags) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<LocalRoot> root, Root());
  FileDescriptor opened(OpenWithoutLinks(root->Number(), name, flags));
  if (opened.IsOpen()) return opened;
  const int error = errno;
  // The folder may have been removed and recreated.
  if (error == ENOENT && access(PathOf(name).c_str(), F_OK) == 0) ForgetRoot();
  return OpenError("opening", PathOf(name), error);
}

Result<std::shared_ptr<FileReader>> LocalStore::Open(const std::string &name) {
  // A pipe in place of a file must not block the reader.
  SMD_ASSIGN_OR_RETURN(FileDescriptor file, OpenBelow(name, O_RDONLY | O_NONBLOCK));
  struct stat facts {};
  if (fstat(file.Number(), &facts) != 0) return SystemError("reading", PathOf(name), errno);
  if (!S_ISREG(facts.st_mode)) return CorruptData(PathOf(name), "is no regular file");
  return std::shared_ptr<FileReader>(std::make_shared<LocalReader>(
      std::move(file), static_cast<uint64_t>(facts.st_size), PathOf(name)));
}

Result<size_t> LocalStore::ReadPart(const std::string &name, uint64_t offset, MutableByteSpan out) {
  SMD_ASSIGN_OR_RETURN(const FileDescriptor file, OpenBelow(name, O_RDONLY | O_NONBLOCK));
  const ssize_t size = pread(file.Number(), out.data(), out.size(), static_cast<off_t>(offset));
  if (size >= 0) return static_cast<size_t>(size);
  return Store::ReadPart(name, offset, out);  // finds the reason
}

Result<std::optional<double>> LocalStore::ModifiedAt(const std::string &name) {
  struct stat facts {};
  if (lstat(PathOf(name).c_str(), &facts) == 0) {
    return std::optional<double>(static_cast<double>(facts.st_mtim.tv_sec) +
                                 static_cast<double>(facts.st_mtim.tv_nsec) * 1e-9);
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<double>();
  return SystemError("looking for", PathOf(name), errno);
}

Result<std::optional<FileVersion>> LocalStore::VersionOf(const std::string &name) {
  struct stat facts {};
  if (lstat(PathOf(name).c_str(), &facts) == 0) {
    return std::optional(FileVersion{StrCat(facts.st_ino, "-", facts.st_size, "-",
                                            facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec),
                                     static_cast<uint64_t>(facts.st_size)});
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileVersion>();
  return SystemError("looking for", PathOf(name), errno);
}

Result<std::vector<std::string>> LocalStore::List(const std::string &folder) {
  auto opened = OpenBelow(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.IsOk()) {
    if (opened.GetStatus().GetCode() == Code::kNotFound) return std::vector<std::string>();
    return opened.GetStatus();
  }
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names,
                       ReadFolder(std::move(*opened), PathOf(folder)));
  for (std::string &name : names) name = StrCat(folder, "/", name);
  return names;
}

Result<std::vector<std::string>> LocalStore::Folders(const std::string &folder) {
  const std::string name = folder.empty() ? "." : folder;
  auto opened = OpenBelow(name, O_RDONLY | O_DIRECTORY);
  if (!opened.IsOk()) {
    if (opened.GetStatus().GetCode() == Code::kNotFound) return std::vector<std::string>();
    return opened.GetStatus();
  }
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names,
                       ReadFolder(std::move(*opened), PathOf(name), Entries::kFolders));
  if (folder.empty()) return names;
  for (std::string &each : names) each = StrCat(folder, "/", each);
  return names;
}

std::unique_ptr<Listing> LocalStore::Follow(const std::string &folder) {
  return std::make_unique<LocalListing>(root_path_, folder);
}

Result<std::vector<ListedFile>> LocalStore::ListVersions(const std::string &folder) {
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> folders, Folders(folder));
  folders.push_back(folder);
  std::vector<ListedFile> files;
  for (const std::string &each : folders) {
    auto opened = OpenBelow(each, O_RDONLY | O_DIRECTORY);
    if (!opened.IsOk() && opened.GetStatus().GetCode() == Code::kNotFound) continue;
    if (!opened.IsOk()) return opened.GetStatus();
    SMD_RETURN_IF_ERROR(ReadVersions(*std::move(opened), PathOf(each), each, &files));
  }
  return files;
}

Status LocalStore::MakeFolder(const std::string &folder) {
  const int error = MakeFolders(PathOf(folder));
  if (error != 0) return SystemError("making the folder", PathOf(folder), error);
  ForgetRoot();
  return Status::Ok();
}

Result<FileDescriptor> LocalStore::CreateBelow(const std::string &name, int flags,
                                               std::shared_ptr<LocalRoot> *root) {
  for (const bool is_last_try : {false, true}) {
    auto opened = Root();
    if (opened.IsOk()) {
      *root = *opened;
      FileDescriptor file(OpenWithoutLinks((*root)->Number(), name, flags | O_CREAT));
      if (file.IsOpen()) return file;
      if (errno != ENOENT || is_last_try) return OpenError("making", PathOf(name), errno);
      // Usually only the last folder is missing: that of a new step.
      const std::string folder = FolderOf(name);
      if (mkdirat((*root)->Number(), folder.c_str(), kFolderMode) == 0) continue;
    } else if (is_last_try) {
      return opened.GetStatus();
    }
    SMD_RETURN_IF_ERROR(MakeFolder(FolderOf(name)));
  }
  return SystemError("making", PathOf(name), ENOENT);
}

Result<std::unique_ptr<FileWriter>> LocalStore::Create(const std::string &name) {
  return CreateAs(name, LocalWriter::TemporaryName(name), Older::kReplace);
}

Result<std::unique_ptr<FileWriter>> LocalStore::CreateShared(const std::string &name,
                                                             std::string_view writer, Older older) {
  return CreateAs(name, LocalWriter::TemporaryName(StrCat(name, ".", writer)), older);
}

Result<std::unique_ptr<FileWriter>> LocalStore::CreateAs(const std::string &name,
                                                         std::string temporary, Older older) {
  std::shared_ptr<LocalRoot> root;
  FileDescriptor file;
  for (int i = 0; i < kMostTries; ++i) {
    SMD_ASSIGN_OR_RETURN(file, CreateBelow(temporary, O_WRONLY | O_TRUNC, &root));
    if (LockForWriting(*root, file, temporary)) break;
    std::this_thread::yield();
  }
  return std::unique_ptr<FileWriter>(std::make_unique<LocalWriter>(
      std::move(root), std::move(file),
      LocalWriter::Names{std::move(temporary), name, PathOf(name)}, older));
}

Result<std::unique_ptr<GrowingFile>> LocalStore::Grow(const std::string &temporary_name) {
  std::shared_ptr<LocalRoot> root;
  SMD_ASSIGN_OR_RETURN(FileDescriptor file, CreateBelow(temporary_name, O_WRONLY | O_EXCL, &root));
  const std::string path = PathOf(temporary_name);
  if (!LockForWriting(*root, file, temporary_name)) return SystemError("making", path, ENOENT);
  FileDescriptor folder(fcntl(root->Number(), F_DUPFD_CLOEXEC, 0));
  if (!folder.IsOpen()) return SystemError("making", path, errno);
  return std::unique_ptr<GrowingFile>(std::make_unique<LocalGrowingFile>(
      std::move(folder), std::move(file), temporary_name, path,
      [this](const std::string &made) { return MakeFolder(made); }));
}

Status LocalStore::TakeOver(const std::string &temporary_name, const UseText &use) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<LocalRoot> root, Root());
  if (!root->HasLocks()) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const FileDescriptor file, OpenBelow(temporary_name, O_RDONLY | O_NONBLOCK));
  if (TryLock(file.Number(), LockKind::kExclusive) != LockResult::kTaken) return Status::Ok();
  const std::string path = PathOf(temporary_name);
  SMD_ASSIGN_OR_RETURN(const bool is_same,
                       IsSameFile(file.Number(), root->Number(), temporary_name, path));
  if (!is_same) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::string text, ReadText(temporary_name));
  SMD_RETURN_IF_ERROR(use(text));
  return Remove(temporary_name);
}

Status LocalStore::Remove(const std::string &name) {
  if (unlink(PathOf(name).c_str()) == 0 || errno == ENOENT) return Status::Ok();
  return SystemError("removing", PathOf(name), errno);
}

void LocalStore::CheckRoot() {
  const MutexLock lock(mutex_);
  if (!root_) return;
  struct stat opened {};
  struct stat named {};
  const bool is_same = fstat(root_->Number(), &opened) == 0 &&
                       stat(root_path_.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
                       opened.st_dev == named.st_dev;
  if (!is_same) root_.reset();
}

Result<std::optional<FileIdentity>> LocalStore::IdentityOf(const std::string &name) {
  CheckRoot();
  struct stat facts {};
  if (lstat(PathOf(name).c_str(), &facts) == 0) {
    return std::optional(FileIdentity{facts.st_dev, facts.st_ino});
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileIdentity>();
  return SystemError("looking for", PathOf(name), errno);
}

bool LocalStore::HasExactClaims() {
  const auto root = Root();
  return root.IsOk() && (*root)->HasLocks();
}

Status LocalStore::RemoveLeftover(const std::string &name, Leftover judgement) {
  if (judgement == Leftover::kKeep) return Status::Ok();
  const bool needs_proof = judgement == Leftover::kRemoveIfDead;
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<LocalRoot> root, Root());
  const FileDescriptor file(
      root->HasLocks() ? OpenWithoutLinks(root->Number(), name, O_RDONLY | O_NONBLOCK) : -1);
  const LockResult lock =
      file.IsOpen() ? TryLock(file.Number(), LockKind::kExclusive) : LockResult::kFailed;
  if (lock == LockResult::kFailed) return needs_proof ? Status::Ok() : Remove(name);
  if (lock == LockResult::kHeldByOthers) return Status::Ok();
  // Its writer may have renamed it, and another may have created the file that has its name now.
  const auto is_same = IsSameFile(file.Number(), root->Number(), name, PathOf(name));
  if (is_same.IsOk() && *is_same) unlinkat(root->Number(), name.c_str(), 0);
  return is_same.GetStatus();
}

Status LocalStore::RemoveLeftovers(const std::string &folder, const Judge &judge) {
  int folders = kMostFolders;
  return RemoveLeftovers(folder, 2, &folders, judge);
}

Status LocalStore::RemoveLeftovers(const std::string &folder, int levels, int *folders,
                                   const Judge &judge) {
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, List(folder));
  const std::string ending = LocalWriter::TemporaryName("");
  // The newest steps come first, as the number of folders is bounded.
  for (const std::string &name : std::views::reverse(names)) {
    if (name.ends_with(ending)) {
      const std::string_view final_name =
          std::string_view(name).substr(0, name.size() - ending.size());
      SMD_RETURN_IF_ERROR(RemoveLeftover(name, judge(final_name)));
    } else if (levels > 0 && *folders > 0 && name.find('.', folder.size()) == std::string::npos) {
      // Files have an extension, and a trial's folders have none.  Other entries are left alone.
      --*folders;
      const Status removed = RemoveLeftovers(name, levels - 1, folders, judge);
      (void)removed;
    }
  }
  return Status::Ok();
}

Result<std::unique_ptr<Claim>> LocalStore::Acquire(const std::string &name) {
  std::shared_ptr<LocalRoot> root;
  SMD_ASSIGN_OR_RETURN(FileDescriptor file, CreateBelow(name, O_RDWR, &root));
  if (flock(file.Number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::unique_ptr<Claim>();
    return SystemError("locking", PathOf(name), errno);
  }
  // The former holder may have removed the file after we opened it and before we locked it.
  SMD_ASSIGN_OR_RETURN(const bool is_same,
                       IsSameFile(file.Number(), root->Number(), name, PathOf(name)));
  if (!is_same) return Acquire(name);
  return std::unique_ptr<Claim>(
      std::make_unique<LocalClaim>(std::move(root), std::move(file), name));
}

std::unique_ptr<Watcher> LocalStore::Watch() { return std::make_unique<LocalWatcher>(root_path_); }

}  // namespace smdebug::storage
