/* pool.c: the thread pool. In: an entry with its arguments and a number of threads. Out: the entry has run, once per thread
   of a team.

   Who owns what: a worker is either in the list of idle workers (under pool.lock) or belongs to the one call that took
   it. The lock is held to take workers and to give them back, never while an entry runs. What a call shares with its
   workers is a struct on the caller's stack; a worker reports back through a word of its own, whose memory is static,
   so nobody touches the struct once the caller has returned.

   Fork: the child has none of the workers, so it forgets them (and whatever the lock was doing) and starts its own at need.
   The parent does nothing at a fork, so forking can never wait for a call. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity, pthread_setname_np */
#endif
#include "pool.h"
#include "fpenv.h"
#include "word.h"
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

enum { LINE = 64 };                       /* bytes that one core writes without disturbing another's */
enum { IDLE, BUSY, STOP };                /* what a worker's word says */
enum { STACK_BYTES = 2 << 20 };           /* set, so that it does not depend on the user's limits */

struct call {
  tj_entry *entry;
  const struct tj_support *support;
  void *const *buffers;
  const int64_t *dims;
  int64_t size, spin;
  int64_t parts[TJ_TEAM_PARTS]; /* as wide as the widest element */
  struct worker *workers; /* those of this call, linked by next */
  char apart[LINE];
  tj_word arrived; /* at the barrier in this round */
  char apart_too[LINE];
  tj_word round;   /* goes up when the last has arrived */
};

struct worker {
  tj_word state;
  struct call *call;
  int64_t index;
  struct worker *next;
  pthread_t thread;
  char apart[LINE];
};

static struct worker slots[TJ_POOL_WORKERS_MAX];

static struct {
  pthread_mutex_t lock;
  struct worker *idle;    /* the last one used comes first: it may still be looking */
  struct worker *vacant;  /* slots whose worker has ended */
  int64_t made;           /* slots that were ever used */
  int64_t live;           /* workers that exist */
  int64_t running;        /* threads in calls of more than one thread, callers included */
  int64_t cpus;           /* this process may use; 0: not asked yet */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t stream; /* of every team; set before the first call, or again to the same */

/* ---- fork */

static void forget_workers(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pool.idle = pool.vacant = NULL;
  pool.made = pool.live = pool.running = pool.cpus = 0;
}

static int fork_is_covered;

static void cover_fork(void) {
  fork_is_covered = pthread_atfork(NULL, NULL, forget_workers) == 0;
}

/* Must come before the lock is first taken: a fork while it is held leaves it held in the child. */
static int ready(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, cover_fork);
  return fork_is_covered;
}

/* ---- one call */

static void team_barrier(const tj_team *team) {
  struct call *call = team->shared;
  uint32_t round = tj_word_get(&call->round); /* cannot change before this thread has arrived */
  if (tj_word_count(&call->arrived) == (uint32_t)call->size - 1) {
    tj_word_put(&call->arrived, 0);
    tj_word_put(&call->round, round + 1);
  } else {
    tj_word_wait(&call->round, round, call->spin);
  }
}

static void no_barrier(const tj_team *team) {
  (void)team;
}

static void run_as(struct call *call, int64_t index) {
  tj_team team = {index, call->size, team_barrier, call, call->support, stream, call->parts};
  tj_fp caller = tj_fp_enter();
  call->entry(&team, call->buffers, call->dims);
  tj_fp_leave(caller);
}

static int run_alone(tj_entry *entry, const struct tj_support *support, void *const *buffers, const int64_t *dims) {
  tj_team team = {0, 1, no_barrier, NULL, support, stream, NULL};
  tj_fp caller = tj_fp_enter();
  entry(&team, buffers, dims);
  tj_fp_leave(caller);
  return 1;
}

/* ---- workers */

static void *worker_main(void *argument) {
  struct worker *self = argument;
  int64_t spin = 0;
#ifdef __linux__
  pthread_setname_np(pthread_self(), "tj-worker");
#endif
  for (;;) {
    tj_word_wait(&self->state, IDLE, spin);
    if (tj_word_get(&self->state) == STOP) return NULL;
    spin = self->call->spin;
    run_as(self->call, self->index);
    tj_word_put(&self->state, IDLE); /* from here on the call may be gone */
  }
}

/* Signals that a fault in this thread raises stay open, so that crash reporters see them; all others are the program's. */
static void signals_for_workers(sigset_t *set) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  sigfillset(set);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(set, faults[i]);
}

static int start_thread(struct worker *worker) {
  pthread_attr_t attributes;
  sigset_t blocked, before;
  if (pthread_attr_init(&attributes) != 0) return 0;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  signals_for_workers(&blocked);
  pthread_sigmask(SIG_SETMASK, &blocked, &before); /* a new thread has its creator's mask */
  int failed = pthread_create(&worker->thread, &attributes, worker_main, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return !failed;
}

/* The lock is held. NULL: no slot left, or the system refuses another thread. */
static struct worker *new_worker(void) {
  struct worker *worker = pool.vacant;
  if (worker) {
    pool.vacant = worker->next;
  } else if (pool.made < TJ_POOL_WORKERS_MAX) {
    worker = &slots[pool.made++];
  } else {
    return NULL;
  }
  tj_word_init(&worker->state, IDLE);
  if (start_thread(worker)) {
    pool.live++;
    return worker;
  }
  tj_word_destroy(&worker->state);
  worker->next = pool.vacant;
  pool.vacant = worker;
  return NULL;
}

static int64_t usable_cpus(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? online : 1;
}

/* Takes up to `wanted` workers for the call; sets its workers, size and spin. Idle workers first, then new ones up to a
   bound: what this call asks for, or two per CPU when many calls run at once. Beyond that more threads would only wait. */
static void take_workers(struct call *call, int64_t wanted) {
  call->workers = NULL;
  call->size = 1;
  pthread_mutex_lock(&pool.lock);
  if (pool.cpus == 0) pool.cpus = usable_cpus();
  int64_t bound = wanted > 2 * pool.cpus ? wanted : 2 * pool.cpus;
  for (; call->size <= wanted; call->size++) {
    struct worker *worker = pool.idle;
    if (worker) {
      pool.idle = worker->next;
    } else if (pool.live >= bound || !(worker = new_worker())) {
      break;
    }
    worker->index = call->size;
    worker->next = call->workers;
    call->workers = worker;
  }
  if (call->size > 1) pool.running += call->size;
  /* With more threads than CPUs the one waited for may need this very CPU: sleep at once. */
  call->spin = pool.running <= pool.cpus ? TJ_POOL_SPIN_NS : 0;
  pthread_mutex_unlock(&pool.lock);
}

static void give_back(struct call *call) {
  pthread_mutex_lock(&pool.lock);
  pool.running -= call->size;
  while (call->workers) {
    struct worker *worker = call->workers;
    call->workers = worker->next;
    worker->next = pool.idle;
    pool.idle = worker;
  }
  pthread_mutex_unlock(&pool.lock);
}

/* ---- interface */

void tj_pool_stream(int64_t bytes) { stream = bytes; }

int tj_pool_run(tj_entry *entry, const struct tj_support *support, void *const *buffers, const int64_t *dims, int64_t threads) {
  if (threads <= 1 || !ready()) return run_alone(entry, support, buffers, dims);
  struct call call;
  take_workers(&call, threads - 1 < TJ_POOL_WORKERS_MAX ? threads - 1 : TJ_POOL_WORKERS_MAX);
  if (call.size == 1) return run_alone(entry, support, buffers, dims);

  call.entry = entry;
  call.support = support;
  call.buffers = buffers;
  call.dims = dims;
  tj_word_init(&call.arrived, 0);
  tj_word_init(&call.round, 0);
  for (struct worker *worker = call.workers; worker; worker = worker->next) {
    worker->call = &call;
    tj_word_put(&worker->state, BUSY);
  }
  run_as(&call, 0);
  for (struct worker *worker = call.workers; worker; worker = worker->next) tj_word_wait(&worker->state, BUSY, call.spin);
  tj_word_destroy(&call.arrived);
  tj_word_destroy(&call.round);
  give_back(&call);
  return (int)call.size;
}

void tj_pool_shutdown(void) {
  if (!ready()) return; /* then there are no workers */
  pthread_mutex_lock(&pool.lock);
  struct worker *leaving = pool.idle;
  pool.idle = NULL;
  pthread_mutex_unlock(&pool.lock);

  for (struct worker *worker = leaving; worker; worker = worker->next) tj_word_put(&worker->state, STOP);
  while (leaving) {
    struct worker *worker = leaving;
    leaving = worker->next;
    pthread_join(worker->thread, NULL);
    tj_word_destroy(&worker->state);
    pthread_mutex_lock(&pool.lock);
    pool.live--;
    worker->next = pool.vacant;
    pool.vacant = worker;
    pthread_mutex_unlock(&pool.lock);
  }
}
