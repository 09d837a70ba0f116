/* word.h: a shared number that threads can wait on.

   One thread waits for as long as the word holds a value; another puts a new value, which wakes it.
   Law: everything written before tj_word_put is visible after the tj_word_wait or tj_word_get that
   sees the new value. A waiter first looks again and again for `spin` nanoseconds, then sleeps and uses no CPU.
   After the first few looks it offers its CPU to others between looks: the thread it waits for may be queued on that
   very CPU (measured on two busy cores: without this a hand-over of 0.2 us becomes 60 us, with it 3 us).

   gcc and clang on Linux: an atomic word and the kernel's futex. The lowest bit says that somebody may be
   asleep, so a put that wakes nobody is one atomic instruction and no system call. Any other compiler or
   system (tcc has no atomic operations), or with TJ_WORD_PORTABLE defined: a mutex and a condition variable, and no
   spinning. */
#ifndef TJ_WORD_H
#define TJ_WORD_H
#include <stdint.h>

#if defined(__linux__) && defined(__GNUC__) && !defined(__TINYC__) && !defined(TJ_WORD_PORTABLE)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct tj_word {
  uint32_t bits; /* value * 2 + (1 if somebody may be asleep) */
} tj_word;

static inline void tj_word_init(tj_word *word, uint32_t value) {
  __atomic_store_n(&word->bits, value << 1, __ATOMIC_RELAXED);
}

static inline void tj_word_destroy(tj_word *word) {
  (void)word;
}

static inline uint32_t tj_word_get(tj_word *word) {
  return __atomic_load_n(&word->bits, __ATOMIC_ACQUIRE) >> 1;
}

/* Adds one and returns the value before; wakes nobody. */
static inline uint32_t tj_word_count(tj_word *word) {
  return __atomic_fetch_add(&word->bits, 2, __ATOMIC_ACQ_REL) >> 1;
}

static inline void tj_word_put(tj_word *word, uint32_t value) {
  uint32_t before = __atomic_exchange_n(&word->bits, value << 1, __ATOMIC_ACQ_REL);
  if (before & 1) syscall(SYS_futex, &word->bits, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static inline void tj_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline int64_t tj_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns when the word holds something other than `value`. */
static inline void tj_word_wait(tj_word *word, uint32_t value, int64_t spin) {
  if (spin > 0) {
    int64_t end = 0;
    for (;;) {
      for (int look = 0; look < 16; look++) { /* the clock costs about one look: read it once in sixteen */
        if (tj_word_get(word) != value) return;
        if (end == 0) {
          tj_pause();
        } else {
          sched_yield();
        }
      }
      int64_t now = tj_clock();
      if (end == 0) end = now + spin;
      else if (now >= end) break;
    }
  }
  uint32_t awake = value << 1, asleep = awake | 1;
  for (;;) {
    uint32_t seen = awake;
    if (!__atomic_compare_exchange_n(&word->bits, &seen, asleep, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE) && seen != asleep) return;
    /* The kernel sleeps only if the word is still `asleep`; early returns just look again. */
    syscall(SYS_futex, &word->bits, FUTEX_WAIT_PRIVATE, asleep, NULL, NULL, 0);
  }
}

#else
#include <pthread.h>

typedef struct tj_word {
  uint32_t value;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} tj_word;

static inline void tj_word_init(tj_word *word, uint32_t value) {
  word->value = value;
  pthread_mutex_init(&word->lock, NULL);
  pthread_cond_init(&word->changed, NULL);
}

static inline void tj_word_destroy(tj_word *word) {
  pthread_cond_destroy(&word->changed);
  pthread_mutex_destroy(&word->lock);
}

static inline uint32_t tj_word_get(tj_word *word) {
  pthread_mutex_lock(&word->lock);
  uint32_t value = word->value;
  pthread_mutex_unlock(&word->lock);
  return value;
}

static inline uint32_t tj_word_count(tj_word *word) {
  pthread_mutex_lock(&word->lock);
  uint32_t before = word->value++;
  pthread_mutex_unlock(&word->lock);
  return before;
}

static inline void tj_word_put(tj_word *word, uint32_t value) {
  pthread_mutex_lock(&word->lock);
  word->value = value;
  pthread_cond_broadcast(&word->changed);
  pthread_mutex_unlock(&word->lock);
}

static inline void tj_word_wait(tj_word *word, uint32_t value, int64_t spin) {
  (void)spin;
  pthread_mutex_lock(&word->lock);
  while (word->value == value) pthread_cond_wait(&word->changed, &word->lock);
  pthread_mutex_unlock(&word->lock);
}

#endif
#endif
