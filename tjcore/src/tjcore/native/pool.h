/* pool.h: runs one call of a built graph on several threads. docs/threads.md says how it behaves and why.

   Build: cc -std=gnu11 -O2 -fPIC -shared -pthread pool.c (with tcc, or off x86-64 and aarch64, also -lm).
   The library that holds the pool must stay loaded for the life of the process (dlopen with RTLD_NODELETE, or
   never closed): its workers sleep inside its code. */
#ifndef TJ_POOL_H
#define TJ_POOL_H
#include "tj.h"

/* How long a thread that waits looks again and again before it sleeps, in nanoseconds. Waking a sleeping thread costs
   several microseconds, so calls that follow each other quickly want workers that are still looking. The price: after a
   call each worker keeps a core busy for this long, which other threads (NumPy's, say) may want. */
#ifndef TJ_POOL_SPIN_NS
#define TJ_POOL_SPIN_NS 30000
#endif

/* Never more workers than this in one process; their slots are static (about 64 KiB, touched only when used). */
#define TJ_POOL_WORKERS_MAX 1024

/* Runs `entry` side by side on at most `threads` threads, of which the caller is number 0, and returns how many took part
   (at least 1) when all of them are done. Never fails: a team of fewer threads computes the same bits.
   Any number of threads may be in here at once. With threads <= 1 no other thread is started, woken or waited for. */
int tj_pool_run(tj_entry *entry, const struct tj_support *support, void *const *buffers, const int64_t *dims, int64_t threads);

/* Results of so many bytes and more are stored past the cache from now on; 0: none are, as at first. */
void tj_pool_stream(int64_t bytes);

/* Ends the workers that are idle and waits until they are gone; those in a call stay. A later call starts new ones. */
void tj_pool_shutdown(void);
#endif
