// SHA-256 (FIPS 180-4) of a block of memory, as 64 hexadecimal digits.
#pragma once

#include <cstddef>
#include <string>

namespace etprof {

std::string sha256_hex(const void* data, size_t size);

}  // namespace etprof
