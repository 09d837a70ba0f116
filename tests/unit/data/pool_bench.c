/* What the thread pool adds to a call, with an entry that does nothing. Build and run (any compiler):
     cc -std=gnu11 -O2 -pthread -I tjcore/src/tjcore/native tests/unit/data/pool_bench.c tjcore/src/tjcore/native/pool.c -lm -o pool_bench
     ./pool_bench
   Prints medians of 2000 calls per row. */
#include "pool.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, BARRIERS = 100 };

static void nothing(const tj_team *team, void *const *buffers, const int64_t *dims) {
  (void)team, (void)buffers, (void)dims;
}

static void barriers(const tj_team *team, void *const *buffers, const int64_t *dims) {
  (void)buffers, (void)dims;
  for (int i = 0; i < BARRIERS; i++) tj_wait(team);
}

static double clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double nap; /* between calls, in nanoseconds */

static double median_ns(tj_entry *entry, int threads, int repeats) {
  static double taken[CALLS];
  int calls = nap > 0 ? CALLS / 10 : CALLS;
  for (int call = 0; call < calls; call++) {
    if (nap > 0) nanosleep(&(struct timespec){0, (long)nap}, NULL);
    double start = clock_ns();
    for (int i = 0; i < repeats; i++) tj_pool_run(entry, NULL, NULL, NULL, threads);
    taken[call] = (clock_ns() - start) / repeats;
  }
  qsort(taken, calls, sizeof *taken, ascending);
  return taken[calls / 2];
}

static void *create_and_end(void *argument) {
  return argument;
}

int main(void) {
  tj_entry *volatile direct = nothing;
  const tj_team alone = {0, 1, NULL, NULL, NULL};
  double start = clock_ns();
  for (int i = 0; i < 1000000; i++) direct(&alone, NULL, NULL);
  printf("entry called directly             %9.1f ns\n", (clock_ns() - start) / 1e6);
  printf("1 thread                          %9.1f ns\n", median_ns(nothing, 1, 1000));
  printf("2 threads, call after call        %9.1f ns\n", median_ns(nothing, 2, 20));
  printf("2 threads, one barrier            %9.1f ns\n", median_ns(barriers, 2, 1) / BARRIERS);
  nap = 1e6;
  printf("2 threads, workers asleep         %9.1f ns\n", median_ns(nothing, 2, 1));
  nap = 0;
  printf("4 threads, call after call        %9.1f ns\n", median_ns(nothing, 4, 20));
  printf("4 threads, one barrier            %9.1f ns\n", median_ns(barriers, 4, 1) / BARRIERS);
  tj_pool_shutdown();
  start = clock_ns();
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, create_and_end, NULL);
    pthread_join(thread, NULL);
  }
  printf("for comparison: create and join   %9.1f ns\n", (clock_ns() - start) / 200);
  return 0;
}
