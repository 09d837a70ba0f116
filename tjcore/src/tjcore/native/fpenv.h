/* fpenv.h: one floating-point environment for every call, whatever the caller had set.

   In: the calling thread's environment, which a library loaded with fast-math start-up code or a
   program may have changed (flush-to-zero, another rounding direction, trapping exceptions).
   Out: between tj_fp_enter and tj_fp_leave the default of IEC 60559: round to nearest, subnormal
   numbers kept, exceptions masked. Law: after tj_fp_leave the caller's environment is what it was,
   exception flags included, so a call neither reads nor writes it.

   Both are a few instructions on x86-64 and aarch64; elsewhere, and with tcc, <fenv.h> does it (link with -lm).
   On x86-64 only the SSE register is switched: the code built here computes in float and double, never on
   the x87 unit. */
#ifndef TJ_FPENV_H
#define TJ_FPENV_H
#include <stdint.h>

#if defined(__GNUC__) && !defined(__TINYC__) && defined(__x86_64__)

typedef uint32_t tj_fp;

static inline tj_fp tj_fp_enter(void) {
  uint32_t saved, standard = 0x1f80; /* all exceptions masked, no flags, round to nearest */
  /* The memory clobbers keep the compiler from moving stores of computed values across the switch. */
  __asm__ volatile("stmxcsr %0" : "=m"(saved) : : "memory");
  __asm__ volatile("ldmxcsr %0" : : "m"(standard) : "memory");
  return saved;
}

static inline void tj_fp_leave(tj_fp saved) {
  __asm__ volatile("ldmxcsr %0" : : "m"(saved) : "memory");
}

#elif defined(__GNUC__) && !defined(__TINYC__) && defined(__aarch64__)

typedef struct tj_fp {
  uint64_t control, flags;
} tj_fp;

static inline tj_fp tj_fp_enter(void) {
  tj_fp saved;
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control) : : "memory");
  __asm__ volatile("mrs %0, fpsr" : "=r"(saved.flags) : : "memory");
  __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
  return saved;
}

static inline void tj_fp_leave(tj_fp saved) {
  __asm__ volatile("msr fpsr, %0" : : "r"(saved.flags) : "memory");
  __asm__ volatile("msr fpcr, %0" : : "r"(saved.control) : "memory");
}

#else
#include <fenv.h>

typedef fenv_t tj_fp;

static inline tj_fp tj_fp_enter(void) {
  tj_fp saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  return saved;
}

static inline void tj_fp_leave(tj_fp saved) {
  fesetenv(&saved);
}

#endif
#endif
