#if defined(__aarch64__)

#include <vector>

#include "peak_loops.h"

// Instructions that an assembler may not know are given as words, of which the last five bits, or two, name the
// accumulator. Registers 24 and 25 hold the factors.
#define WORD(BASE, n) ".inst " #BASE "+" #n "\n"
#define EIGHT(M, from0, from1, from2, from3, from4, from5, from6, from7) \
  M(from0) M(from1) M(from2) M(from3) M(from4) M(from5) M(from6) M(from7)
// 24 accumulators: four pipelines of up to six cycles.
#define ALL(M)                       \
  EIGHT(M, 0, 1, 2, 3, 4, 5, 6, 7)   \
  EIGHT(M, 8, 9, 10, 11, 12, 13, 14, 15) \
  EIGHT(M, 16, 17, 18, 19, 20, 21, 22, 23)
// SME has four tiles of 32-bit numbers: six times each.
#define TILES(M)                   \
  EIGHT(M, 0, 1, 2, 3, 0, 1, 2, 3) \
  EIGHT(M, 0, 1, 2, 3, 0, 1, 2, 3) \
  EIGHT(M, 0, 1, 2, 3, 0, 1, 2, 3)
#define REGISTERS                                                                                                 \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",    \
      "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"

#define CLEAR(n) "movi v" #n ".4s, #0\n"
#define STORE(n) "str q" #n ", [%[sums], #16*" #n "]\n"
#define CLEAR_SVE(n) WORD(0x25b8c000, n)                                        // mov zn.s, #0
#define STORE_SVE(n) ".inst 0xe5804140+((" #n ">>3)<<16)+((" #n "&7)<<10)+" #n "\n"  // str zn, [x10, #n, mul vl]

#define FP32_NEON(n) "fmla v" #n ".4s, v24.4s, v25.4s\n"
#define INT8_NEON(n) "smlal v" #n ".8h, v24.8b, v25.8b\n"
#define FP16_NEON(n) WORD(0x4e590f00, n)  // fmla vn.8h, v24.8h, v25.8h
#define BF16_NEON(n) WORD(0x6e59ef00, n)  // bfmmla vn.4s, v24.8h, v25.8h
#define INT8_SDOT(n) WORD(0x4e999700, n)  // sdot vn.4s, v24.16b, v25.16b
#define INT8_SMMLA(n) WORD(0x4e99a700, n)  // smmla vn.4s, v24.16b, v25.16b
#define FP32_SVE(n) WORD(0x65b90300, n)   // fmla zn.s, p0/m, z24.s, z25.s
#define FP32_SME(n) WORD(0x80990300, n)   // fmopa zan.s, p0/m, p0/m, z24.s, z25.s
#define FP16_SME(n) WORD(0x81b90300, n)   // fmopa zan.s, p0/m, p0/m, z24.h, z25.h
#define BF16_SME(n) WORD(0x81990300, n)   // bfmopa zan.s, p0/m, p0/m, z24.h, z25.h
#define INT8_SME(n) WORD(0xa0990300, n)   // smopa zan.s, p0/m, p0/m, z24.b, z25.b

#define FACTORS_SVE            \
  ".inst 0x05a03938\n"         /* mov z24.s, w9 */ \
  ".inst 0x05a03939\n"         /* mov z25.s, w9 */ \
  ".inst 0x2518e3e0\n"         /* ptrue p0.b */
#define AGAIN "subs %[n], %[n], #1\nb.ne 1b\n"

#define NEON(FUNCTION, FACTOR, SUM, BODY)                                                                   \
  double FUNCTION(uint64_t iterations) {                                                                    \
    alignas(64) uint8_t sums[24 * 16];                                                                      \
    asm volatile("dup v24.4s, %w[factor]\ndup v25.4s, %w[factor]\n" ALL(CLEAR) "1:\n" ALL(BODY) AGAIN       \
                     ALL(STORE)                                                                             \
                 : [n] "+r"(iterations)                                                                     \
                 : [sums] "r"(sums), [factor] "r"(FACTOR)                                                   \
                 : "memory", "cc", REGISTERS);                                                              \
    return SUM(sums, sizeof(sums));                                                                         \
  }

// Entering and leaving the streaming mode clears every vector register. The tiles are stored whole, row by row.
#define SME(FUNCTION, FACTOR, LANE, BODY)                                                                   \
  double FUNCTION(uint64_t iterations) {                                                                    \
    std::vector<uint8_t> sums(sme_bytes() * sme_bytes());                                                   \
    asm volatile("mov w9, %w[factor]\nmov x10, %[sums]\n"                                                   \
                 ".inst 0xd503477f\n" /* smstart */ FACTORS_SVE                                             \
                 ".inst 0xc00800ff\n" /* zero {za} */ "1:\n" TILES(BODY) AGAIN                              \
                 ".inst 0x04bf582b\n" /* rdsvl x11, #1 */ "mov w12, #0\n2:\n"                               \
                 ".inst 0xe1200140\n" /* str za[w12, 0], [x10] */                                           \
                 "add x10, x10, x11\nadd w12, w12, #1\ncmp w12, w11\nb.lt 2b\n"                             \
                 ".inst 0xd503467f\n" /* smstop */                                                          \
                 : [n] "+r"(iterations)                                                                     \
                 : [sums] "r"(sums.data()), [factor] "r"(FACTOR)                                            \
                 : "memory", "cc", "x9", "x10", "x11", "x12", REGISTERS);                                   \
    return sum_lanes<LANE>(sums.data(), sums.size());                                                       \
  }

#define MEMORY(FUNCTION, PART, BODY)                                                                         \
  void FUNCTION(char* data, size_t bytes, uint64_t repeats) {                                                \
    const size_t part = bytes / (PART);                                                                      \
    asm volatile("1:\nmov x9, %[data]\nadd x10, %[data], %[part]\n2:\n" BODY                                 \
                 "cmp x9, %[end]\nb.lo 2b\n" AGAIN                                                           \
                 : [n] "+r"(repeats)                                                                         \
                 : [data] "r"(data), [end] "r"(data + part), [part] "r"(part)                                \
                 : "memory", "cc", "x9", "x10", REGISTERS);                                                  \
  }
#define PAIRS(OP, AT)                                                                                        \
  OP " q0, q1, [" AT "]\n" OP " q2, q3, [" AT ", #32]\n" OP " q4, q5, [" AT ", #64]\n" OP " q6, q7, [" AT ", #96]\n"

namespace etprof {
namespace {

constexpr uint32_t kFp32One = 0x3f800000, kFp16Ones = 0x3c003c00, kBf16Ones = 0x3f803f80, kInt8Ones = 0x01010101;

// Half-precision numbers that are whole and not negative.
double sum_halves(const void* data, size_t bytes) {
  double sum = 0;
  for (size_t i = 0; i < bytes / 2; ++i) {
    const uint16_t half = static_cast<const uint16_t*>(data)[i];
    const int exponent = half >> 10 & 31;
    sum += exponent == 0 ? 0.0 : (1024 + (half & 1023)) * static_cast<double>(1 << exponent) / (1 << 25);
  }
  return sum;
}

uint64_t sve_bytes() {
  uint64_t bytes = 0;
  asm volatile(".inst 0x04bf502b\nmov %0, x11\n" /* rdvl x11, #1 */ : "=r"(bytes) : : "x11");
  return bytes;
}

uint64_t sme_bytes() {
  uint64_t bytes = 0;
  asm volatile(".inst 0x04bf582b\nmov %0, x11\n" /* rdsvl x11, #1 */ : "=r"(bytes) : : "x11");
  return bytes;
}

NEON(neon_fp32, kFp32One, sum_lanes<float>, FP32_NEON)
NEON(neon_fp16, kFp16Ones, sum_halves, FP16_NEON)
NEON(neon_bf16, kBf16Ones, sum_lanes<float>, BF16_NEON)
NEON(neon_int8, kInt8Ones, sum_lanes<int16_t>, INT8_NEON)
NEON(sdot_int8, kInt8Ones, sum_lanes<int32_t>, INT8_SDOT)
NEON(smmla_int8, kInt8Ones, sum_lanes<int32_t>, INT8_SMMLA)

double sve_fp32(uint64_t iterations) {
  std::vector<uint8_t> sums(24 * sve_bytes());
  asm volatile("mov w9, %w[factor]\nmov x10, %[sums]\n" FACTORS_SVE ALL(CLEAR_SVE) "1:\n" ALL(FP32_SVE) AGAIN
                   ALL(STORE_SVE)
               : [n] "+r"(iterations)
               : [sums] "r"(sums.data()), [factor] "r"(kFp32One)
               : "memory", "cc", "x9", "x10", REGISTERS);
  return sum_lanes<float>(sums.data(), sums.size());
}

SME(sme_fp32, kFp32One, float, FP32_SME)
SME(sme_fp16, kFp16Ones, float, FP16_SME)
SME(sme_bf16, kBf16Ones, float, BF16_SME)
SME(sme_int8, kInt8Ones, int32_t, INT8_SME)

MEMORY(read_memory, 1, PAIRS("ldp", "x9") "add x9, x9, #128\n")
MEMORY(write_memory, 1, PAIRS("stp", "x9") "add x9, x9, #128\n")
MEMORY(copy_memory, 2, PAIRS("ldp", "x9") PAIRS("stp", "x10") "add x9, x9, #128\nadd x10, x10, #128\n")

template <uint64_t kCount>
uint64_t constant() {
  return kCount;
}

uint64_t sve_macs() { return 24 * sve_bytes() / 4; }

// An outer product of two vectors of 32-bit lanes; narrower numbers are multiplied in groups that fill a lane.
template <uint64_t kGroup>
uint64_t sme_macs() {
  return 24 * kGroup * (sme_bytes() / 4) * (sme_bytes() / 4);
}

}  // namespace

const std::vector<ComputeLoop>& compute_loops() {
  static const std::vector<ComputeLoop> loops = {
      {"neon_fp32", "", 24, constant<24 * 4>, neon_fp32},
      {"neon_fp16", "fp16arith", 24, constant<24 * 8>, neon_fp16},
      {"neon_bf16", "bf16", 24, constant<24 * 16>, neon_bf16},
      {"neon_int8", "", 24, constant<24 * 8>, neon_int8},
      {"sdot_int8", "dot", 24, constant<24 * 16>, sdot_int8},
      {"smmla_int8", "i8mm", 24, constant<24 * 32>, smmla_int8},
      {"sve_fp32", "sve", 24, sve_macs, sve_fp32},
      {"sme_fp32", "sme", 24, sme_macs<1>, sme_fp32},
      {"sme_fp16", "sme", 24, sme_macs<2>, sme_fp16},
      {"sme_bf16", "sme", 24, sme_macs<2>, sme_bf16},
      {"sme_int8", "sme", 24, sme_macs<4>, sme_int8},
  };
  return loops;
}

const std::vector<MemoryLoop>& memory_loops() {
  static const std::vector<MemoryLoop> loops = {{"", read_memory, write_memory, copy_memory}};
  return loops;
}

void add_in_a_chain(uint64_t iterations) {
  uint64_t sum = 0;
  const uint64_t one = 1;
  asm volatile("1:\n.rept %c[count]\nadd %[sum], %[sum], %[one]\n.endr\n" AGAIN
               : [n] "+r"(iterations), [sum] "+r"(sum)
               : [one] "r"(one), [count] "i"(kAdditions)
               : "cc");
}

}  // namespace etprof

#endif
