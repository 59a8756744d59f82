# Warnings of the house, as errors, on gcc and clang. Arithmetic is pinned: no contraction of a*b+c, no fast-math.
add_library(pe_run_options INTERFACE)
target_compile_features(pe_run_options INTERFACE c_std_11)
target_compile_options(pe_run_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-qual -Wundef -Wformat=2 -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  -ffp-contract=off -fno-math-errno)
# A loop that clang does not unroll or vectorise as asked for is a matter of speed, not of code.
target_compile_options(pe_run_options INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
if(PE_RUN_WERROR)
  target_compile_options(pe_run_options INTERFACE -Werror)
endif()
set(PE_RUN_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize=")
if(PE_RUN_SANITIZE)
  target_compile_options(pe_run_options INTERFACE -fsanitize=${PE_RUN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(pe_run_options INTERFACE -fsanitize=${PE_RUN_SANITIZE})
endif()
