#include "mach_o.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace etprof {
namespace {

// Numbers of <mach-o/loader.h>, <mach-o/nlist.h> and <mach-o/fat.h>, which exist on macOS only.
constexpr uint32_t kMagic = 0xfeedfacf;
constexpr uint32_t kFatMagic = 0xcafebabe;
constexpr uint32_t kFatMagic64 = 0xcafebabf;
constexpr uint32_t kArm64 = 0x0100000c;
constexpr uint32_t kSegment64 = 0x19;
constexpr uint32_t kSymbolTable = 0x2;
constexpr uint32_t kUuid = 0x1b;
constexpr uint32_t kFunctionStarts = 0x26;
constexpr uint32_t kInstructions = 0x80000000 | 0x400;
constexpr uint8_t kDebugSymbol = 0xe0, kTypeMask = 0x0e, kInSection = 0x0e, kExternal = 0x01;
constexpr size_t kHeaderBytes = 32, kSegmentBytes = 72, kSectionBytes = 80, kSymbolBytes = 16, kUuidBytes = 16;
constexpr uint32_t kReturn = 0xd65f03c0, kNoOperation = 0xd503201f;
constexpr uint64_t kWordBytes = 4, kMostPaddingBytes = 64;
constexpr uint32_t kMostFatImages = 64;
// A symbol has one byte for the number of its section.
constexpr size_t kMostSections = 255;
constexpr size_t kLongestName = 4096;
// Far above the size of any library, and far below where sums of two offsets could overflow.
constexpr uint64_t kHighestAddress = uint64_t{1} << 62;

// A part of the file. Every access is checked; the first that is not inside makes the whole file damaged.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  size_t size() const { return size_; }

  std::optional<Bytes> part(uint64_t offset, uint64_t size) const {
    if (offset > size_ || size > size_ - offset) {
      return std::nullopt;
    }
    return Bytes(data_ + offset, static_cast<size_t>(size));
  }

  // Zero outside, where `part` was not asked first.
  template <typename T>
  T at(size_t offset) const {
    T value{};
    if (offset <= size_ && sizeof(T) <= size_ - offset) {
      std::memcpy(&value, data_ + offset, sizeof(T));
    }
    return value;
  }

  uint32_t big_endian(size_t offset) const {
    const auto value = at<uint32_t>(offset);
    return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
  }

  uint64_t big_endian64(size_t offset) const {
    return uint64_t{big_endian(offset)} << 32 | big_endian(offset + 4);
  }

  // Up to a zero byte; nothing where there is none.
  std::optional<std::string> text(uint64_t offset) const {
    if (offset >= size_) {
      return std::nullopt;
    }
    const auto* start = data_ + offset;
    const size_t longest = std::min<size_t>(size_ - static_cast<size_t>(offset), kLongestName);
    const auto* end = static_cast<const uint8_t*>(std::memchr(start, 0, longest));
    return end == nullptr ? std::nullopt : std::make_optional(std::string(start, end));
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

struct Section {
  uint64_t address;
  uint64_t size;
  bool has_code;
  // Its bytes in the file; none where the file has fewer than it says.
  std::optional<Bytes> content;
};

struct Commands {
  std::optional<uint64_t> base;
  std::vector<Section> sections;
  std::string uuid;
  std::optional<Bytes> symbols;
  std::optional<Bytes> names;
  std::optional<Bytes> starts;
};

std::string hex(const Bytes& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = bytes.at<uint8_t>(i);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

bool read_segment(const Bytes& command, const Bytes& image, Commands& found) {
  const auto count = command.at<uint32_t>(64);
  if (command.size() < kSegmentBytes || count > (command.size() - kSegmentBytes) / kSectionBytes) {
    return false;
  }
  if (found.sections.size() + count > kMostSections) {
    return false;
  }
  const auto name = command.text(8);
  const auto address = command.at<uint64_t>(24);
  if (name && *name == "__TEXT") {
    found.base = address;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = kSegmentBytes + i * kSectionBytes;
    const auto size = command.at<uint64_t>(at + 40);
    const Section section{command.at<uint64_t>(at + 32), size, (command.at<uint32_t>(at + 64) & kInstructions) != 0,
                          image.part(command.at<uint32_t>(at + 48), size)};
    if (section.address > kHighestAddress || section.size > kHighestAddress) {
      return false;
    }
    found.sections.push_back(section);
  }
  return true;
}

bool read_command(uint32_t kind, const Bytes& command, const Bytes& image, Commands& found) {
  const auto first = command.at<uint32_t>(8), second = command.at<uint32_t>(12);
  switch (kind) {
    case kSegment64:
      return read_segment(command, image, found);
    case kUuid: {
      const auto uuid = command.part(8, kUuidBytes);
      found.uuid = uuid ? hex(*uuid) : "";
      return uuid.has_value();
    }
    case kSymbolTable:
      found.symbols = image.part(first, uint64_t{second} * kSymbolBytes);
      found.names = image.part(command.at<uint32_t>(16), command.at<uint32_t>(20));
      return found.symbols && found.names;
    case kFunctionStarts:
      found.starts = image.part(first, second);
      return found.starts.has_value();
    default:
      return true;
  }
}

std::optional<Commands> read_commands(const Bytes& image) {
  const auto commands = image.part(kHeaderBytes, image.at<uint32_t>(20));
  if (image.at<uint32_t>(0) != kMagic || image.at<uint32_t>(4) != kArm64 || !commands) {
    return std::nullopt;
  }
  Commands found;
  const auto count = image.at<uint32_t>(16);
  size_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto size = commands->at<uint32_t>(at + 4);
    const auto command = commands->part(at, size);
    // The size includes kind and size themselves, so that each round moves on.
    if (size < 8 || !command || !read_command(commands->at<uint32_t>(at), *command, image, found)) {
      return std::nullopt;
    }
    at += size;
  }
  return found;
}

const Section* find_code(const Commands& commands, uint64_t address) {
  for (const Section& section : commands.sections) {
    if (section.has_code && address >= section.address && address - section.address < section.size) {
      return &section;
    }
  }
  return nullptr;
}

// Where functions begin: differences of addresses, seven bits to a byte, up to a zero.
std::vector<uint64_t> list_starts(const Bytes& coded, uint64_t base) {
  std::vector<uint64_t> starts;
  uint64_t address = base;
  for (size_t at = 0; at < coded.size();) {
    uint64_t step = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      byte = coded.at<uint8_t>(at++);
      step |= shift < 63 ? uint64_t{byte & 0x7fu} << shift : 0;
      shift += 7;
    } while ((byte & 0x80) != 0 && at < coded.size());
    if (step == 0 || step > kHighestAddress || address > kHighestAddress) {
      break;
    }
    address += step;
    starts.push_back(address);
  }
  return starts;
}

// What the compiler calls the beginning of a piece of assembly; the function has a name of its own.
bool is_temporary(const std::string& name) { return name.rfind("ltmp", 0) == 0; }

// By address. Of several names for one function an exported one is kept. C names have an underscore before them.
std::map<uint64_t, std::string> list_names(const Commands& commands) {
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, bool> exported;
  const size_t count = commands.symbols ? commands.symbols->size() / kSymbolBytes : 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * kSymbolBytes;
    const auto kind = commands.symbols->at<uint8_t>(at + 4);
    const auto address = commands.symbols->at<uint64_t>(at + 8);
    if ((kind & kDebugSymbol) != 0 || (kind & kTypeMask) != kInSection || find_code(commands, address) == nullptr) {
      continue;
    }
    auto name = commands.names->text(commands.symbols->at<uint32_t>(at));
    if (!name || name->empty() || is_temporary(*name)) {
      continue;
    }
    const bool is_exported = (kind & kExternal) != 0;
    const auto [entry, is_new] = exported.emplace(address, is_exported);
    if (is_new || (is_exported && !entry->second)) {
      names[address] = name->front() == '_' ? name->substr(1) : *name;
      entry->second = is_exported;
    }
  }
  return names;
}

// Whether nothing but padding follows the return instruction of this piece of code.
bool ends_with_return(const Section& code, uint64_t start, uint64_t end) {
  uint32_t word = kNoOperation;
  for (uint64_t at = end; at >= start + kWordBytes && end - at < kMostPaddingBytes;) {
    at -= kWordBytes;
    word = code.content ? code.content->at<uint32_t>(static_cast<size_t>(at - code.address)) : 0;
    if (word != kNoOperation && word != 0) {
      break;
    }
  }
  return word == kReturn;
}

// The linker takes the labels of KleidiAI's assembly for functions, so that its kernels are in pieces without names.
// Everything up to a return belongs to the kernel before.
void join_assembly(std::vector<MachFunction>& functions, const Commands& commands, uint64_t base) {
  std::vector<MachFunction> joined;
  for (MachFunction& each : functions) {
    if (!joined.empty() && each.name.empty() && joined.back().end == each.start &&
        joined.back().name.rfind("kai_kernel_", 0) == 0) {
      MachFunction& kernel = joined.back();
      const Section* code = find_code(commands, kernel.start + base);
      if (code != nullptr && code == find_code(commands, each.start + base) &&
          !ends_with_return(*code, kernel.start + base, kernel.end + base)) {
        kernel.end = each.end;
        continue;
      }
    }
    joined.push_back(std::move(each));
  }
  functions = std::move(joined);
}

std::vector<MachFunction> list_functions(const Commands& commands, uint64_t base) {
  const std::map<uint64_t, std::string> names = list_names(commands);
  std::vector<uint64_t> starts = commands.starts ? list_starts(*commands.starts, base) : std::vector<uint64_t>();
  // The list of the linker is complete, and a symbol between its entries is a label within a function. Only without a
  // list do the symbols themselves say where functions begin.
  if (starts.empty()) {
    for (const auto& [address, name] : names) {
      starts.push_back(address);
    }
  }
  std::vector<MachFunction> functions;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Section* code = find_code(commands, starts[i]);
    if (code == nullptr || starts[i] < base) {
      continue;
    }
    const uint64_t code_end = code->address + code->size;
    const uint64_t end = i + 1 < starts.size() ? std::min(starts[i + 1], code_end) : code_end;
    const auto name = names.find(starts[i]);
    functions.push_back({starts[i] - base, end - base, name == names.end() ? "" : name->second});
  }
  join_assembly(functions, commands, base);
  return functions;
}

void add_image(const std::optional<Bytes>& bytes, std::vector<MachImage>& images) {
  const auto commands = bytes ? read_commands(*bytes) : std::nullopt;
  if (commands && commands->base) {
    images.push_back({commands->uuid, list_functions(*commands, *commands->base)});
  }
}

}  // namespace

const MachFunction* MachImage::find(uint64_t offset) const {
  const auto after = std::upper_bound(functions.begin(), functions.end(), offset,
                                      [](uint64_t at, const MachFunction& each) { return at < each.start; });
  if (after == functions.begin() || offset >= std::prev(after)->end) {
    return nullptr;
  }
  return &*std::prev(after);
}

std::vector<MachImage> read_mach_o(const uint8_t* data, size_t size) {
  const Bytes file(data, size);
  const uint32_t magic = file.big_endian(0);
  std::vector<MachImage> images;
  if (magic != kFatMagic && magic != kFatMagic64) {
    add_image(file, images);
    return images;
  }
  // A universal file: a table of images, each for another processor.
  const bool is_wide = magic == kFatMagic64;
  const uint32_t count = std::min(file.big_endian(4), kMostFatImages);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = 8 + i * (is_wide ? 32 : 20);
    if (file.big_endian(at) == kArm64) {
      add_image(is_wide ? file.part(file.big_endian64(at + 8), file.big_endian64(at + 16))
                        : file.part(file.big_endian(at + 8), file.big_endian(at + 12)),
                images);
    }
  }
  return images;
}

}  // namespace etprof
