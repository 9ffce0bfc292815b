#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach/vm_prot.h>

#include <fstream>
#include <iterator>
#include <map>

#include "code_map.h"
#include "mach_o.h"

namespace etprof {
namespace {

// As `read_mach_o` gives it.
std::string uuid_text(const uuid_command& command) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : command.uuid) {
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

template <typename Visit>
void visit_commands(const mach_header_64& header, Visit visit) {
  const auto* at = reinterpret_cast<const char*>(&header + 1);
  for (uint32_t i = 0; i < header.ncmds; ++i) {
    const auto& command = *reinterpret_cast<const load_command*>(at);
    visit(command);
    at += command.cmdsize;
  }
}

// The image of the file that is the one in memory: another version may lie there by now.
MachImage read_file(const std::string& path, const std::string& uuid) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (MachImage& image : read_mach_o(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())) {
    if (!uuid.empty() && image.uuid == uuid) {
      return std::move(image);
    }
  }
  return {};
}

}  // namespace

// The functions of ExecuTorch's libraries and of the runner, by the number of the library.
struct CodeMap::Tables {
  std::map<int, MachImage> images;
};

void CodeMap::find_libraries() {
  tables_ = std::make_shared<Tables>();
  for (uint32_t i = 0; i < _dyld_image_count(); ++i) {
    const auto* header = reinterpret_cast<const mach_header_64*>(_dyld_get_image_header(i));
    const char* path = _dyld_get_image_name(i);
    if (header == nullptr || path == nullptr || header->magic != MH_MAGIC_64) {
      continue;
    }
    // Folders are left out: the file may travel to another machine.
    const std::string file = path;
    const std::string name = header->filetype == MH_EXECUTE ? "etprof_runner" : file.substr(file.rfind('/') + 1);
    const int library = static_cast<int>(libraries_.size());
    libraries_.push_back(name);
    const auto base = reinterpret_cast<uint64_t>(header);
    const auto slide = static_cast<uint64_t>(_dyld_get_image_vmaddr_slide(i));
    std::string uuid;
    visit_commands(*header, [&](const load_command& command) {
      if (command.cmd == LC_SEGMENT_64) {
        const auto& segment = reinterpret_cast<const segment_command_64&>(command);
        if ((segment.initprot & VM_PROT_EXECUTE) != 0) {
          const uint64_t start = segment.vmaddr + slide;
          segments_.push_back({start, start + segment.vmsize, base, library});
        }
      } else if (command.cmd == LC_UUID) {
        uuid = uuid_text(reinterpret_cast<const uuid_command&>(command));
      }
    });
    const bool is_executorch = name.find("libexecutorch") != std::string::npos;
    if (is_executorch || header->filetype == MH_EXECUTE) {
      tables_->images[library] = read_file(file, uuid);
    }
    if (is_executorch) {
      for (const MachFunction& function : tables_->images[library].functions) {
        add_kernel_name(function.name.c_str());
      }
    }
  }
}

// For libraries of the system `dladdr` has to do: they exist in the system's cache only. It gives the nearest symbol
// before an address, which may belong to another function; so nothing of ExecuTorch is named by it.
void CodeMap::find_function(uint64_t address, const Segment& segment, Location& found) const {
  const auto known = tables_->images.find(segment.library);
  if (known != tables_->images.end()) {
    if (const MachFunction* function = known->second.find(address - segment.base)) {
      found.function = static_cast<int64_t>(function->start);
      found.symbol = function->name;
    }
    return;
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    found.symbol = info.dli_sname;
    found.function = static_cast<int64_t>(reinterpret_cast<uint64_t>(info.dli_saddr) - segment.base);
  }
}

}  // namespace etprof
