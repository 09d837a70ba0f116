/* Eight threads that use one pool at once; each checks what its calls computed. For ThreadSanitizer: exit code 0 and no report. */
#include "pool.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CALLERS = 8, CALLS = 40, MOST = 7 };

void entry_rounds(const tj_team *team, void *const *buffers, const int64_t *dims);
void entry_double(const tj_team *team, void *const *buffers, const int64_t *dims);

static void *caller(void *argument) {
  long number = (long)argument, bad = 0;
  for (int call = 0; call < CALLS; call++) {
    int64_t slots[MOST] = {0}, wrong[MOST] = {0}, runs[MOST] = {0}, rounds = 5, count = 50 + call;
    double in[100], out[100];
    for (int i = 0; i < count; i++) in[i] = number * 1000 + i;
    int size = tj_pool_run(entry_rounds, NULL, (void *[]){slots, wrong}, &rounds, 1 + (number + call) % MOST);
    for (int i = 0; i < MOST; i++) bad += wrong[i] != 0 || (slots[i] == 5000 + i) != (i < size);
    size = tj_pool_run(entry_double, NULL, (void *[]){in, out, runs}, &count, 1 + (number + call) % MOST);
    for (int i = 0; i < count; i++) bad += out[i] != 2 * in[i];
    for (int i = 0; i < MOST; i++) bad += runs[i] != (i < size);
    if (call % 16 == 15) tj_pool_shutdown();
  }
  return (void *)bad;
}

int main(void) {
  pthread_t threads[CALLERS];
  long bad = 0;
  for (long i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, caller, (void *)i);
  for (long i = 0; i < CALLERS; i++) {
    void *found;
    pthread_join(threads[i], &found);
    bad += (long)found;
  }
  tj_pool_shutdown();
  if (bad) printf("%ld wrong values\n", bad);
  return bad != 0;
}
