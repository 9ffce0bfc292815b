#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "memory.h"

namespace etprof {
namespace {

constexpr const char* kExecClock = "ETPROF_EXEC_NS";

struct Mapping {
  std::string path;
  unsigned long long inode = 0;
};

// A file as mappings name it: by its path, or by its number where the path is another one's view of it.
struct KnownFile {
  std::string path;
  unsigned long long inode = 0;

  explicit KnownFile(const std::string& given) {
    struct stat status {};
    if (given.empty() || stat(given.c_str(), &status) != 0) {
      return;
    }
    inode = status.st_ino;
    char resolved[PATH_MAX];
    path = realpath(given.c_str(), resolved) != nullptr ? resolved : given;
  }

  bool is(const Mapping& mapping) const {
    return inode != 0 && (mapping.inode == inode || mapping.path == path);
  }
};

// "55d0-55e0 r-xp 00000000 fe:01 1234   /path": the only lines whose first word has a hyphen.
bool parse_mapping(const std::string& line, Mapping& mapping) {
  unsigned long long start = 0;
  unsigned long long end = 0;
  int at = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx %*4s %*x %*x:%*x %llu %n", &start, &end, &mapping.inode, &at) < 3) {
    return false;
  }
  mapping.path = at > 0 ? line.substr(static_cast<size_t>(at)) : "";
  return true;
}

bool is_library(const Mapping& mapping, const std::string& program) {
  return mapping.path == program || mapping.path.find(".so") != std::string::npos;
}

std::string read_program_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::vector<std::string> read_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    words.push_back(word);
  }
  return words;
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MemoryReading read_memory(const std::string& model_path, const std::string& cache_path) {
  static const std::string program = read_program_path();
  const KnownFile model(model_path);
  const KnownFile cache(cache_path);
  std::ifstream smaps("/proc/self/smaps");
  int64_t rss = 0;
  int64_t pss = 0;
  int64_t in_model = 0;
  int64_t in_libraries = 0;
  int64_t in_cache = 0;
  int64_t in_files = 0;
  int64_t anonymous = 0;
  int64_t* part = &anonymous;
  Mapping mapping;
  for (std::string line; std::getline(smaps, line);) {
    if (parse_mapping(line, mapping)) {
      part = model.is(mapping)                  ? &in_model
             : cache.is(mapping)                ? &in_cache
             : mapping.inode == 0               ? &anonymous
             : is_library(mapping, program)     ? &in_libraries
                                                : &in_files;
    } else if (line.rfind("Rss:", 0) == 0) {
      const int64_t bytes = std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
      rss += bytes;
      *part += bytes;
    } else if (line.rfind("Pss:", 0) == 0) {
      pss += std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
    }
  }
  // An emulator shows the file with every number zero; some systems do not show it.
  if (rss == 0) {
    return {};
  }
  return {rss, pss, in_model, in_libraries, in_cache, in_files, anonymous};
}

int64_t read_rss_pages() {
  long long total = 0;
  long long resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

void reset_peak() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    // 5 is the record of the peak and nothing else. Who may not write it keeps the peak of the whole process.
    [[maybe_unused]] const ssize_t written = write(file, "5", 1);
    close(file);
  }
}

std::optional<int64_t> measure_process_start(std::chrono::steady_clock::time_point entered) {
  const auto ns = [](std::chrono::steady_clock::time_point at) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  };
  if (const char* said = getenv(kExecClock)) {
    const int64_t started = std::strtoll(said, nullptr, 10);
    unsetenv(kExecClock);
    return ns(entered) - started;
  }
  std::vector<std::string> words = read_command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  setenv(kExecClock, std::to_string(ns(std::chrono::steady_clock::now())).c_str(), 1);
  if (!words.empty()) {
    execv("/proc/self/exe", arguments.data());
  }
  unsetenv(kExecClock);
  return std::nullopt;
}

void fill_page_cache(const std::string& path) {
  const OpenFile file(path);
  std::vector<char> buffer(1 << 20);
  while (file.number() >= 0 && read(file.number(), buffer.data(), buffer.size()) > 0) {
  }
}

void drop_page_cache(const std::string& path) {
  const OpenFile file(path);
  if (file.number() >= 0) {
    // Pages that are not on the disk yet would stay.
    fsync(file.number());
    posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::optional<double> read_cached_share(const std::string& path) {
  const OpenFile file(path);
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || status.st_size == 0) {
    return std::nullopt;
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (mapped == MAP_FAILED) {
    return std::nullopt;
  }
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool is_known = mincore(mapped, size, pages.data()) == 0;
  munmap(mapped, size);
  if (!is_known) {
    return std::nullopt;
  }
  size_t cached = 0;
  for (const unsigned char each : pages) {
    cached += each & 1U;
  }
  return static_cast<double>(cached) / static_cast<double>(pages.size());
}

}  // namespace etprof
