/* call.c: see call.h. */
#include "call.h"
#include "pool.h"
#include "support.h"

#if defined __GNUC__ && !defined __TINYC__
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

enum { C_CONTIGUOUS = 0x0001, ALIGNED = 0x0100, WRITEABLE = 0x0400 }; /* as numpy/ndarraytypes.h has them since 1.7 */
enum { METH_KEYWORDS = 0x0002, METH_FASTCALL = 0x0080 };

static const char *const CALLEE = "tjcore.callee", *const PREPARED = "tjcore.prepared";

static tj_python py; /* the same for the whole life of the process */

static void *field(const void *object, int64_t at) { return *(void *const *)((const char *)object + at); }

/* Whether an object is an array of the declared dtype and rank whose elements lie as generated code reads them. */
static int fits(const tj_callee *f, int64_t i, const void *object, int wanted) {
  if (field(object, py.type_at) != py.array_type) return 0;
  if (field(object, py.descr_at) != f->dtypes[i]) return 0;
  if (*(const int *)((const char *)object + py.rank_at) != f->ranks[i]) return 0;
  return (*(const int *)((const char *)object + py.flags_at) & wanted) == wanted;
}

EXPORT int64_t tj_call_slot(const int64_t *extents, int64_t count) {
  uint64_t mixed = 0;
  for (int64_t i = 0; i < count; i++) mixed = (mixed ^ (uint64_t)extents[i]) * 0x9e3779b97f4a7c15u;
  return (int64_t)(mixed >> 40) % TJ_CALL_RECORDS;
}

static int same(const int64_t *a, const int64_t *b, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (a[i] != b[i]) return 0;
  return 1;
}

static const tj_record *find(const tj_callee *f, const int64_t *extents) {
  int64_t slot = tj_call_slot(extents, f->input_extents);
  for (int64_t probe = 0; probe < TJ_CALL_PROBES; probe++) {
    const tj_record *record = f->records[(slot + probe) % TJ_CALL_RECORDS];
    if (record && same(record->extents, extents, f->input_extents)) return record;
  }
  return 0;
}

/* Whether the `count` bytes at a and the other ones at b share one. */
static int overlap(const char *a, int64_t bytes_a, const char *b, int64_t bytes_b) { return a < b + bytes_b && b < a + bytes_a; }

static int64_t bytes_of(const tj_callee *f, int64_t i, const int64_t *extents) {
  int64_t bytes = f->itemsizes[i];
  for (int64_t axis = 0; axis < f->ranks[i]; axis++) bytes *= extents[axis];
  return bytes;
}

/* The arrays that the caller gave for outputs: 1 when all fit and share memory with nothing, 0 otherwise. */
static int take_outputs(const tj_callee *f, const tj_record *record, void *given, void **arrays) {
  int64_t count = f->inputs + f->outputs;
  if (field(given, py.type_at) == py.tuple_type) {
    if (py.tuple_size(given) != f->outputs) return 0;
    for (int64_t i = 0; i < f->outputs; i++) arrays[f->inputs + i] = py.tuple_get(given, i);
  } else if (f->outputs == 1) {
    arrays[f->inputs] = given;
  } else {
    return 0;
  }
  const int64_t *extents = record->extents + f->input_extents;
  for (int64_t i = f->inputs; i < count; i++) {
    void *array = arrays[i];
    if (array == py.none) { /* one that is to be made */
      arrays[i] = 0;
    } else if (!fits(f, i, array, C_CONTIGUOUS | ALIGNED | WRITEABLE) || !same(field(array, py.extents_at), extents, f->ranks[i])) {
      return 0;
    }
    extents += f->ranks[i];
  }
  extents = record->extents;
  for (int64_t i = 0; i < count; i++) {
    if (arrays[i]) {
      const char *at = field(arrays[i], py.data_at);
      int64_t bytes = bytes_of(f, i, extents);
      const int64_t *others = record->extents + f->input_extents;
      for (int64_t j = f->inputs; j < count; j++) {
        if (j != i && arrays[j] && overlap(at, bytes, field(arrays[j], py.data_at), bytes_of(f, j, others))) return 0;
        others += f->ranks[j];
      }
    }
    extents += f->ranks[i];
  }
  return 1;
}

static void run(tj_callee *f, void **buffers, const int64_t *dims, int64_t threads) {
  void *state = py.save_thread();
  tj_pool_run(f->entry, tj_support_table(), buffers, dims, threads);
  py.restore_thread(state);
  f->calls++;
  for (int64_t i = 0; i < f->dims; i++) f->last[i] = dims[i];
}

static void *none(void) {
  py.inc_ref(py.none);
  return py.none;
}

/* The tuple of outputs, with new arrays where the caller gave none; 0 with an exception set. */
static void *make_outputs(const tj_callee *f, const tj_record *record, void **arrays) {
  void *result = py.tuple_new(f->outputs);
  for (int64_t i = 0; result && i < f->outputs; i++) {
    void **array = &arrays[f->inputs + i];
    if (*array) {
      py.inc_ref(*array);
    } else {
      void *const arguments[2] = {record->shapes[i], f->dtypes[f->inputs + i]};
      *array = py.call(record->makers[i], arguments, 2, 0);
    }
    if (*array) {
      py.tuple_set(result, i, *array);
    } else {
      py.dec_ref(result);
      result = 0;
    }
  }
  return result;
}

/* A workspace to whoever made it. What fails here fails silently: the memory is then the collector's. */
static void give_back(const tj_callee *f, void *lent) {
  void *answer = py.call(f->workspace_taker, &lent, 1, 0);
  if (answer) py.dec_ref(answer); else py.clear_error();
  py.dec_ref(lent);
}

static void *call(void *self, void *const *given, intptr_t positional, void *names) {
  tj_callee *f = py.capsule_pointer(self, CALLEE);
  if (!f) return 0;
  intptr_t count = names ? py.tuple_size(names) : 0;
  int64_t inputs = f->inputs, extra = count - inputs;
  if (positional || extra < 0 || extra > f->takes_out) return none();

  void *arrays[TJ_CALL_ARRAYS], *out = 0;
  int64_t extents[TJ_CALL_EXTENTS], at = 0;
  if (extra) {
    int64_t i = count - 1;
    while (i >= 0 && py.tuple_get(names, i) != py.out_name) i--;
    if (i < 0) return none();
    out = given[i];
  }
  for (int64_t i = 0; i < inputs; i++) {
    int64_t k = i; /* most callers keep to the order of the declaration */
    if (py.tuple_get(names, k) != f->names[i])
      for (k = 0; k < count && py.tuple_get(names, k) != f->names[i];) k++;
    if (k == count || !fits(f, i, given[k], C_CONTIGUOUS | ALIGNED)) return none();
    arrays[i] = given[k];
    const int64_t *shape = field(given[k], py.extents_at);
    for (int64_t axis = 0; axis < f->ranks[i]; axis++) extents[at++] = shape[axis];
  }
  const tj_record *record = find(f, extents);
  if (!record) return none();

  for (int64_t i = inputs; i < inputs + f->outputs; i++) arrays[i] = 0;
  if (out && out != py.none && !take_outputs(f, record, out, arrays)) return none();
  py.inc_ref(record->owner); /* making arrays runs Python, and with it other threads, who may forget these sizes */
  void *result = make_outputs(f, record, arrays);
  if (result) {
    char stack[TJ_CALL_STACK + 64], *workspace = stack;
    void *lent = 0;
    if (record->workspace > TJ_CALL_STACK) {
      void *const number = py.int_new(record->workspace + 64);
      lent = number ? py.call(f->workspace_maker, &number, 1, 0) : 0;
      if (number) py.dec_ref(number);
      workspace = lent ? field(lent, py.data_at) : 0;
    }
    if (workspace) {
      workspace += -(uintptr_t)workspace % 64;
      void *buffers[TJ_CALL_BUFFERS];
      for (int64_t i = 0; i < inputs + f->outputs; i++) buffers[i] = field(arrays[i], py.data_at);
      for (int64_t i = 0; i < f->temporaries; i++) buffers[inputs + f->outputs + i] = workspace + record->offsets[i];
      run(f, buffers, record->dims, record->threads);
    } else {
      py.dec_ref(result);
      result = 0;
    }
    if (lent) give_back(f, lent);
  }
  py.dec_ref(record->owner);
  return result;
}

static void *prepared(void *self, void *const *given, intptr_t positional, void *names) {
  (void)given;
  tj_prepared *p = py.capsule_pointer(self, PREPARED);
  if (!p) return 0;
  tj_callee *f = p->callee;
  if (positional || (names && py.tuple_size(names)) || p->running) return none();
  void *buffers[TJ_CALL_BUFFERS];
  const int64_t *extents = p->extents;
  int64_t arrays = f->inputs + f->outputs;
  for (int64_t i = 0; i < arrays; i++) { /* what was right when it was bound may have been resized since */
    void *array = p->arrays[i];
    if (!fits(f, i, array, C_CONTIGUOUS | ALIGNED | (i < f->inputs ? 0 : WRITEABLE))) return none();
    if (!same(field(array, py.extents_at), extents, f->ranks[i])) return none();
    extents += f->ranks[i];
    buffers[i] = field(array, py.data_at);
  }
  for (int64_t i = 0; i < f->temporaries; i++) buffers[arrays + i] = p->places[i];
  void *result = p->result;
  py.inc_ref(result);
  p->running = 1;
  run(f, buffers, p->dims, p->threads);
  p->running = 0;
  return result;
}

/* As PyMethodDef is laid out. */
static struct method {
  const char *name;
  void *(*function)(void *, void *const *, intptr_t, void *);
  int flags;
  const char *doc;
} methods[2] = {{"call", call, METH_FASTCALL | METH_KEYWORDS, 0}, {"prepared", prepared, METH_FASTCALL | METH_KEYWORDS, 0}};

EXPORT void tj_call_setup(const tj_python *interpreter, void **first, void **second) {
  py = *interpreter;
  *first = &methods[0];
  *second = &methods[1];
}
