/* What another library may have done to the floating-point environment of the calling thread, and what it is now.
   In: a mode. Out: the environment, changed; or a number that tells one environment from another. */
#include <fenv.h>
#include <stdint.h>

enum { FLUSH = 1, UPWARD = 2, TOWARDZERO = 4, FLAGS = 8 };

#if defined(__x86_64__)
static uint32_t get(void) {
  uint32_t word;
  __asm__ volatile("stmxcsr %0" : "=m"(word));
  return word;
}
static void set(uint32_t word) { __asm__ volatile("ldmxcsr %0" : : "m"(word)); }
#define FLUSH_BITS 0x8040u /* flush to zero, and subnormal operands are zero */
#elif defined(__aarch64__)
static uint32_t get(void) {
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return (uint32_t)word;
}
static void set(uint32_t word) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)word)); }
#define FLUSH_BITS (1u << 24)
#else
static uint32_t get(void) { return 0; }
static void set(uint32_t word) { (void)word; }
#define FLUSH_BITS 0u
#endif

void fp_change(int mode) {
  if (mode & UPWARD) fesetround(FE_UPWARD);
  if (mode & TOWARDZERO) fesetround(FE_TOWARDZERO);
  if (mode & FLUSH) set(get() | FLUSH_BITS);
  if (mode & FLAGS) feraiseexcept(FE_DIVBYZERO);
}

void fp_reset(void) { fesetenv(FE_DFL_ENV); }
int64_t fp_state(void) { return ((int64_t)get() << 32) | (int64_t)(fegetround() << 8) | fetestexcept(FE_ALL_EXCEPT); }

/* Whether this thread flushes subnormal results now: 1 if it does. */
int fp_flushes(void) {
  volatile float tiny = 1.17549435e-38f;
  volatile float half = 0.5f;
  volatile float result = tiny * half;
  return result == 0.0f;
}
