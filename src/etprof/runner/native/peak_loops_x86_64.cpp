#if defined(__x86_64__)

#include "peak_loops.h"

// Twelve accumulators: two pipelines of up to five cycles, with some to spare. Register 12 and 13 hold the factors, 14
// ones of 16 bits, 15 products on their way.
#define TWELVE(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)
#define REGISTERS                                                                                             \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
      "xmm13", "xmm14", "xmm15"

#define CLEAR_SSE(n) "pxor %%xmm" #n ", %%xmm" #n "\n"
#define CLEAR_AVX(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"
#define STORE_XMM(n) "movups %%xmm" #n ", 64*" #n "(%[sums])\n"
#define STORE_YMM(n) "vmovups %%ymm" #n ", 64*" #n "(%[sums])\n"
#define STORE_ZMM(n) "vmovups %%zmm" #n ", 64*" #n "(%[sums])\n"
#define LOAD_XMM(n) "movups 64*(" #n "-12)(%[ones]), %%xmm" #n "\n"
#define LOAD_YMM(n) "vmovups 64*(" #n "-12)(%[ones]), %%ymm" #n "\n"
#define LOAD_ZMM(n) "vmovups 64*(" #n "-12)(%[ones]), %%zmm" #n "\n"

// SSE overwrites one of its two operands, so that a factor is copied first; copies cost no pipeline.
#define FP32_SSE(n) "movaps %%xmm12, %%xmm15\nmulps %%xmm13, %%xmm15\naddps %%xmm15, %%xmm" #n "\n"
#define FP32_AVX2(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #n "\n"
#define FP32_AVX512(n) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #n "\n"
#define INT8_SSE(n)                                                                            \
  "movaps %%xmm12, %%xmm15\npmaddubsw %%xmm13, %%xmm15\npmaddwd %%xmm14, %%xmm15\npaddd %%xmm15, %%xmm" #n "\n"
#define INT8_AVX2(n)                                                                           \
  "vpmaddubsw %%ymm13, %%ymm12, %%ymm15\nvpmaddwd %%ymm14, %%ymm15, %%ymm15\nvpaddd %%ymm15, %%ymm" #n ", %%ymm" #n "\n"
#define INT8_AVX512(n)                                                                         \
  "vpmaddubsw %%zmm13, %%zmm12, %%zmm15\nvpmaddwd %%zmm14, %%zmm15, %%zmm15\nvpaddd %%zmm15, %%zmm" #n ", %%zmm" #n "\n"
#define INT8_AVX_VNNI(n) "%{vex%} vpdpbusd %%ymm13, %%ymm12, %%ymm" #n "\n"
#define INT8_AVX512_VNNI(n) "vpdpbusd %%zmm13, %%zmm12, %%zmm" #n "\n"

#define COMPUTE(FUNCTION, FACTORS, LANE, CLEAR, LOAD, BODY, STORE, LEAVE)                                          \
  double FUNCTION(uint64_t iterations) {                                                                           \
    alignas(64) Sums sums;                                                                                         \
    asm volatile(TWELVE(CLEAR) LOAD(12) LOAD(13) LOAD(14) ".p2align 5\n1:\n" TWELVE(BODY) TWELVE(BODY)             \
                 "dec %[n]\njnz 1b\n" TWELVE(STORE) LEAVE                                                          \
                 : [n] "+r"(iterations)                                                                            \
                 : [sums] "r"(&sums), [ones] "r"(&FACTORS)                                                         \
                 : "memory", "cc", REGISTERS);                                                                     \
    return sum_lanes<LANE>(&sums, sizeof(sums));                                                                   \
  }

// Eight vectors in flight; the pointer runs through the data, then starts over.
#define EIGHT(M, SIZE) M(0, SIZE) M(1, SIZE) M(2, SIZE) M(3, SIZE) M(4, SIZE) M(5, SIZE) M(6, SIZE) M(7, SIZE)
#define READ_XMM(n, SIZE) "movups " #SIZE "*" #n "(%[at]), %%xmm" #n "\n"
#define READ_YMM(n, SIZE) "vmovups " #SIZE "*" #n "(%[at]), %%ymm" #n "\n"
#define READ_ZMM(n, SIZE) "vmovups " #SIZE "*" #n "(%[at]), %%zmm" #n "\n"
#define WRITE_XMM(n, SIZE) "movups %%xmm" #n ", " #SIZE "*" #n "(%[at])\n"
#define WRITE_YMM(n, SIZE) "vmovups %%ymm" #n ", " #SIZE "*" #n "(%[at])\n"
#define WRITE_ZMM(n, SIZE) "vmovups %%zmm" #n ", " #SIZE "*" #n "(%[at])\n"
#define COPY_XMM(n, SIZE) "movups %%xmm" #n ", " #SIZE "*" #n "(%[at],%[half])\n"
#define COPY_YMM(n, SIZE) "vmovups %%ymm" #n ", " #SIZE "*" #n "(%[at],%[half])\n"
#define COPY_ZMM(n, SIZE) "vmovups %%zmm" #n ", " #SIZE "*" #n "(%[at],%[half])\n"

#define MEMORY(FUNCTION, SIZE, PART, BODY, LEAVE)                                                            \
  void FUNCTION(char* data, size_t bytes, uint64_t repeats) {                                                \
    const size_t part = bytes / (PART);                                                                      \
    char* at = data;                                                                                         \
    asm volatile("1:\nmov %[data], %[at]\n.p2align 4\n2:\n" BODY "add $8*" #SIZE                             \
                 ", %[at]\ncmp %[end], %[at]\njb 2b\ndec %[n]\njnz 1b\n" LEAVE                               \
                 : [n] "+r"(repeats), [at] "+&r"(at)                                                         \
                 : [data] "r"(data), [end] "r"(data + part), [half] "r"(part)                                \
                 : "memory", "cc", REGISTERS);                                                               \
  }

#define MEMORY_LOOPS(READ, WRITE, COPY, SIZE, LEAVE)                                        \
  MEMORY(read_##SIZE, SIZE, 1, EIGHT(READ, SIZE), LEAVE)                                    \
  MEMORY(write_##SIZE, SIZE, 1, EIGHT(WRITE, SIZE), LEAVE)                                  \
  MEMORY(copy_##SIZE, SIZE, 2, EIGHT(READ, SIZE) EIGHT(COPY, SIZE), LEAVE)

namespace etprof {
namespace {

struct Sums {
  uint32_t lanes[12 * 16] = {};
};

// The contents of registers 12, 13 and 14.
struct Ones {
  uint32_t factors[2 * 16];
  uint16_t halves[32];
};

constexpr Ones fill(uint32_t word) {
  Ones ones{};
  for (uint32_t& factor : ones.factors) {
    factor = word;
  }
  for (uint16_t& half : ones.halves) {
    half = 1;
  }
  return ones;
}

alignas(64) constexpr Ones kFloats = fill(0x3f800000);
alignas(64) constexpr Ones kBytes = fill(0x01010101);

COMPUTE(sse_fp32, kFloats, float, CLEAR_SSE, LOAD_XMM, FP32_SSE, STORE_XMM, "")
COMPUTE(avx2_fp32, kFloats, float, CLEAR_AVX, LOAD_YMM, FP32_AVX2, STORE_YMM, "vzeroupper\n")
COMPUTE(avx512_fp32, kFloats, float, CLEAR_AVX, LOAD_ZMM, FP32_AVX512, STORE_ZMM, "vzeroupper\n")
COMPUTE(sse_int8, kBytes, int32_t, CLEAR_SSE, LOAD_XMM, INT8_SSE, STORE_XMM, "")
COMPUTE(avx2_int8, kBytes, int32_t, CLEAR_AVX, LOAD_YMM, INT8_AVX2, STORE_YMM, "vzeroupper\n")
COMPUTE(avx512_int8, kBytes, int32_t, CLEAR_AVX, LOAD_ZMM, INT8_AVX512, STORE_ZMM, "vzeroupper\n")
COMPUTE(avx_vnni_int8, kBytes, int32_t, CLEAR_AVX, LOAD_YMM, INT8_AVX_VNNI, STORE_YMM, "vzeroupper\n")
COMPUTE(avx512_vnni_int8, kBytes, int32_t, CLEAR_AVX, LOAD_ZMM, INT8_AVX512_VNNI, STORE_ZMM, "vzeroupper\n")

MEMORY_LOOPS(READ_XMM, WRITE_XMM, COPY_XMM, 16, "")
MEMORY_LOOPS(READ_YMM, WRITE_YMM, COPY_YMM, 32, "vzeroupper\n")
MEMORY_LOOPS(READ_ZMM, WRITE_ZMM, COPY_ZMM, 64, "vzeroupper\n")

template <uint64_t kCount>
uint64_t constant() {
  return kCount;
}

}  // namespace

const std::vector<ComputeLoop>& compute_loops() {
  static const std::vector<ComputeLoop> loops = {
      {"sse_fp32", "", 24 * 2, constant<24 * 4>, sse_fp32},
      {"avx2_fp32", "avx2 fma3", 24, constant<24 * 8>, avx2_fp32},
      {"avx512_fp32", "avx512f", 24, constant<24 * 16>, avx512_fp32},
      {"sse_int8", "ssse3", 24 * 3, constant<24 * 16>, sse_int8},
      {"avx2_int8", "avx2", 24 * 3, constant<24 * 32>, avx2_int8},
      {"avx512_int8", "avx512bw", 24 * 3, constant<24 * 64>, avx512_int8},
      {"avx_vnni_int8", "avxvnni", 24, constant<24 * 32>, avx_vnni_int8},
      {"avx512_vnni_int8", "avx512vnni", 24, constant<24 * 64>, avx512_vnni_int8},
  };
  return loops;
}

const std::vector<MemoryLoop>& memory_loops() {
  static const std::vector<MemoryLoop> loops = {
      {"avx512f", read_64, write_64, copy_64}, {"avx", read_32, write_32, copy_32}, {"", read_16, write_16, copy_16}};
  return loops;
}

void add_in_a_chain(uint64_t iterations) {
  uint64_t sum = 0;
  const uint64_t one = 1;
  asm volatile("1:\n.rept %c[count]\nadd %[one], %[sum]\n.endr\ndec %[n]\njnz 1b\n"
               : [n] "+r"(iterations), [sum] "+r"(sum)
               : [one] "r"(one), [count] "i"(kAdditions)
               : "cc");
}

}  // namespace etprof

#endif
