"""What programs of macOS print, in the form of published listings; written by hand, with the values of an M4."""

M4_CORES = """\
hw.ncpu: 10
hw.byteorder: 1234
hw.nperflevels: 2
hw.perflevel0.physicalcpu: 4
hw.perflevel0.physicalcpu_max: 4
hw.perflevel0.logicalcpu: 4
hw.perflevel0.l1dcachesize: 131072
hw.perflevel0.l2cachesize: 16777216
hw.perflevel0.cpusperl2: 4
hw.perflevel0.name: Performance
hw.perflevel1.physicalcpu: 6
hw.perflevel1.physicalcpu_max: 6
hw.perflevel1.logicalcpu: 6
hw.perflevel1.l1dcachesize: 65536
hw.perflevel1.l2cachesize: 4194304
hw.perflevel1.name: Efficiency
hw.memsize: 17179869184
"""
M4_FEATURES = """\
hw.optional.arm.FEAT_LSE: 1
hw.optional.arm.FEAT_DotProd: 1
hw.optional.arm.FEAT_FHM: 1
hw.optional.arm.FEAT_RDM: 1
hw.optional.arm.FEAT_FCMA: 1
hw.optional.arm.FEAT_JSCVT: 1
hw.optional.arm.FEAT_BF16: 1
hw.optional.arm.FEAT_EBF16: 0
hw.optional.arm.FEAT_I8MM: 1
hw.optional.arm.FEAT_FP16: 1
hw.optional.arm.FEAT_SME: 1
hw.optional.arm.FEAT_SME2: 1
hw.optional.arm.FEAT_SME_F64F64: 1
hw.optional.arm.FEAT_SME_I16I64: 1
hw.optional.arm.sme_max_svl_b: 64
"""
# An older chip: no i8mm, no bf16 and no SME, and a macOS that does not know the names of the latter.
M1_FEATURES = """\
hw.optional.arm.FEAT_LSE: 1
hw.optional.arm.FEAT_DotProd: 1
hw.optional.arm.FEAT_FHM: 1
hw.optional.arm.FEAT_RDM: 1
hw.optional.arm.FEAT_FCMA: 1
hw.optional.arm.FEAT_JSCVT: 1
hw.optional.arm.FEAT_BF16: 0
hw.optional.arm.FEAT_I8MM: 0
hw.optional.arm.FEAT_FP16: 1
"""
HEAVY_PRESSURE = "com.apple.system.thermalpressurelevel 2\n"
