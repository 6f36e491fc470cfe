# SPDX-License-Identifier: Apache-2.0
#
# Debian's cross compiler for little-endian POWER (POWER8 and later), and QEMU to run its programs.
# QEMU has the instructions of transactional memory; its transactions always abort.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER powerpc64le-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-ppc64le -cpu power9 -L /usr/powerpc64le-linux-gnu)
