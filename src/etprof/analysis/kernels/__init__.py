"""What samples of the program counter prove about the kernels that executed."""
