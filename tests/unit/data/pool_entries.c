/* Entries that the thread pool's tests run: what generated code does, reduced to what can go wrong. */
#include "pool.h"
#include <errno.h>
#include <fenv.h>
#include <time.h>

/* dims: n. buffers: n doubles in, n doubles out, per thread the count of runs. */
void entry_double(const tj_team *team, void *const *buffers, const int64_t *dims) {
  const double *in = buffers[0];
  double *out = buffers[1];
  int64_t *runs = buffers[2], first, last;
  tj_share(team, dims[0], 4, &first, &last);
  for (int64_t i = first; i < last; i++) out[i] = 2 * in[i];
  runs[team->index] += 1;
}

/* dims: rounds. buffers: per thread a slot, per thread a count of slots seen with the wrong value.
   In each round all write, wait, read what all others wrote, wait. */
void entry_rounds(const tj_team *team, void *const *buffers, const int64_t *dims) {
  int64_t *slots = buffers[0], *wrong = buffers[1];
  for (int64_t round = 1; round <= dims[0]; round++) {
    slots[team->index] = round * 1000 + team->index;
    tj_wait(team);
    for (int64_t i = 0; i < team->size; i++) wrong[team->index] += slots[i] != round * 1000 + i;
    tj_wait(team);
  }
}

/* dims: milliseconds. buffers: per thread the count of runs. Sleeps, so that many threads can be in a call on few cores. */
void entry_sleep(const tj_team *team, void *const *buffers, const int64_t *dims) {
  int64_t *runs = buffers[0];
  struct timespec left = {dims[0] / 1000, dims[0] % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  runs[team->index] += 1;
}

/* buffers: one float, per thread half of it, per thread whether sums round to nearest. Raises the inexact flag. */
void entry_half(const tj_team *team, void *const *buffers, const int64_t *dims) {
  volatile const float *in = buffers[0];
  volatile double one = 1.0, above_half = 0x1.8p-53; /* of the last place of one */
  (void)dims;
  ((volatile float *)buffers[1])[team->index] = in[0] * 0.5f;
  ((int64_t *)buffers[2])[team->index] = one + above_half > one && -one - above_half < -one;
}

static void entry_nothing(const tj_team *team, void *const *buffers, const int64_t *dims) {
  (void)team, (void)buffers, (void)dims;
}

/* Call after call, so that the pool's lock is often held; ends the workers now and then. Returns the number of calls. */
int64_t hammer(int64_t threads, int64_t milliseconds) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds, calls = 0;
  for (; now.tv_sec * 1000 + now.tv_nsec / 1000000 < end; clock_gettime(CLOCK_MONOTONIC, &now)) {
    tj_pool_run(entry_nothing, NULL, NULL, NULL, threads);
    if (++calls % 64 == 0) tj_pool_shutdown();
  }
  return calls;
}

/* Flush-to-zero (and, where it is apart, denormals-are-zero) in the calling thread. */
#if defined(__x86_64__)
static const uint32_t FLUSH = 0x8040;
#define CONTROL __mxcsr
#elif defined(__aarch64__)
static const uint32_t FLUSH = 1u << 24;
#define CONTROL __fpcr
#endif

void set_flush(int on) {
  fenv_t now;
  fegetenv(&now);
  now.CONTROL = on ? now.CONTROL | FLUSH : now.CONTROL & ~FLUSH;
  fesetenv(&now);
}

int get_flush(void) {
  fenv_t now;
  fegetenv(&now);
  return (now.CONTROL & FLUSH) == FLUSH;
}

int set_rounding_down(void) { return fesetround(FE_DOWNWARD); }
int is_rounding_down(void) { return fegetround() == FE_DOWNWARD; }

/* The exception flags after a call that raises inexact, entered with only divide-by-zero raised. */
int flags_after_call(void *const *buffers, int64_t threads) {
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  tj_pool_run(entry_half, NULL, buffers, NULL, threads);
  return fetestexcept(FE_ALL_EXCEPT);
}

int divbyzero(void) { return FE_DIVBYZERO; }
