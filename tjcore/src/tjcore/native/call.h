/* call.h: calls that start from NumPy's array objects, without a line of Python in between. direct.py fills in the structures.

   Two functions with the calling convention of Python's built-in functions (METH_FASTCALL | METH_KEYWORDS), each bound to a capsule:
   one takes a call's keyword arguments and returns the outputs, one runs a prepared call. Both check everything that the guards
   check, and change nothing where anything differs: they return None, and Python finds out what is wrong and says so.
   Python's header is not needed to build this: what is used of the interpreter belongs to its stable ABI and is handed over as
   addresses, and where an array object keeps its fields is measured and tried out when tjcore starts. */
#ifndef TJ_CALL_H
#define TJ_CALL_H
#include "tj.h"

enum {
  TJ_CALL_ARRAYS = 64,  /* inputs and outputs of a call at most */
  TJ_CALL_BUFFERS = 192, /* with temporaries */
  TJ_CALL_DIMS = 16,
  TJ_CALL_EXTENTS = 192, /* extents of all arrays together */
  TJ_CALL_RECORDS = 1024, /* remembered sizes: a power of two */
  TJ_CALL_STACK = 16384  /* bytes of a workspace that lies on the stack of the caller */
};

/* The interpreter and NumPy: functions of the stable ABI, objects, and offsets of fields in objects. */
typedef struct tj_python {
  void *(*save_thread)(void);
  void (*restore_thread)(void *);
  void *(*capsule_pointer)(void *, const char *);
  void *(*call)(void *, void *const *, uintptr_t, void *);
  void *(*tuple_new)(intptr_t);
  int (*tuple_set)(void *, intptr_t, void *); /* takes the reference */
  void *(*tuple_get)(void *, intptr_t);       /* lends one */
  intptr_t (*tuple_size)(void *);
  void *(*int_new)(int64_t);
  void (*inc_ref)(void *), (*dec_ref)(void *);
  void (*clear_error)(void);
  void *none, *array_type, *tuple_type, *out_name;
  int64_t type_at, data_at, rank_at, extents_at, descr_at, flags_at;
} tj_python;

/* What one set of sizes needs. */
typedef struct tj_record {
  const int64_t *extents; /* of the inputs, then of the outputs */
  const int64_t *dims;
  const int64_t *offsets; /* of the temporaries in the workspace */
  int64_t workspace;      /* bytes */
  int64_t threads;
  void *owner;            /* the Python object that keeps all of this */
  void *const *shapes;    /* per output: its shape as a tuple */
  void *const *makers;    /* per output: called with shape and dtype, returns an array */
} tj_record;

/* A compiled graph. Changed only by who holds the interpreter's lock. */
typedef struct tj_callee {
  tj_entry *entry;
  int64_t inputs, outputs, temporaries, dims;
  int64_t input_extents;    /* how many extents the inputs have together */
  void *const *names;       /* per input, the interned string */
  void *const *dtypes;      /* per array: inputs, then outputs */
  const int64_t *ranks;
  const int64_t *itemsizes;
  void *workspace_maker;    /* called with a number of bytes, returns an array */
  void *workspace_taker;    /* called with that array after the call */
  int64_t takes_out;        /* whether the keyword `out` is ours */
  int64_t calls;            /* how many have completed */
  int64_t last[TJ_CALL_DIMS]; /* the sizes of the last one */
  const tj_record *records[TJ_CALL_RECORDS];
} tj_callee;

/* A call whose arrays are chosen. */
typedef struct tj_prepared {
  tj_callee *callee;
  void *const *arrays;      /* inputs, then outputs */
  const int64_t *extents, *dims;
  void *const *places;      /* of the temporaries */
  void *result;             /* the tuple of outputs */
  int64_t threads;
  int64_t running;          /* whether some thread is in it */
} tj_prepared;

/* Where a record with these extents of the inputs is looked for first; then in the next few. */
enum { TJ_CALL_PROBES = 4 };
int64_t tj_call_slot(const int64_t *extents, int64_t count);

/* Takes the interpreter, once per process; gives the method definitions for PyCFunction_NewEx: of a call, of a prepared call. */
void tj_call_setup(const tj_python *interpreter, void **call, void **prepared);
#endif
