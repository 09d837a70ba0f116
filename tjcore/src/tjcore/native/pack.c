/* Exact packing search: the C twin of memory/search.py, step for step.
 *
 * In:  `count` buffers; buffer v covers sections lo[v] .. hi[v] - 1 of `sections`, is size[v] > 0 high, and equal sizes may repeat;
 *      a capacity, and a budget of steps. The caller makes sure that the sum of sizes times sections stays below 2^55.
 * Out: TJ_PACK_FOUND and offset[], TJ_PACK_IMPOSSIBLE, TJ_PACK_EXHAUSTED, or TJ_PACK_NO_MEMORY; steps[0] is what it took.
 * Law: outcome, offsets and steps equal those of memory/search.py. The comments there say why each thing is done; the names are the same.
 * No globals and no recursion: any number of threads may search at once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TJ_PACK_FOUND = 1, TJ_PACK_IMPOSSIBLE = 0, TJ_PACK_EXHAUSTED = -1, TJ_PACK_NO_MEMORY = -2 };

enum { LENGTH, SIZE, AREA, SMALL, TIGHT_MEAN, TIGHT_LEAST, TROUBLE };
enum { SLACK, LOW, LEFT, RIGHT };
static const int tastes[][2] = {
    {LENGTH, RIGHT}, {TIGHT_MEAN, SLACK}, {SIZE, SLACK}, {LENGTH, LOW}, {AREA, SLACK}, {TIGHT_LEAST, SLACK}, {SMALL, LEFT}, {TROUBLE, RIGHT},
};
enum { FIRST_DIVE = 4, BLUR = 64, MEMORY_ENTRIES = 1 << 16, MEMORY_PER_SET = 8, MEMORY_WORDS = 1 << 20, MEMORY_BUCKETS = 1 << 16 };
#define NOTHING ((int64_t)1 << 62)

/* A change to undo: cell NULL means that buffer `old` was taken out. */
typedef struct { int64_t *cell, old; } change;
/* A remembered set of buffers (as bits) with tops on which it does not fit; both lie in the pool of words from `at` on. */
typedef struct { int32_t next, sections; int64_t at; } impossible;
typedef struct { int32_t a, b, next_section, ways, count, tried; int64_t mark, lifted; } decision;

typedef struct {
    int32_t count, sections;
    const int32_t *lo, *hi;
    const int64_t *size;
    int64_t capacity, budget, steps, nodes, node_limit, *offset;
    int value, tie, round;
    uint64_t noise;
    int64_t *floor, *top, *left_size, *standing, *higher, *begin_top, *end_top, *trouble, *right_of, *key, *pairs;
    int32_t *start, *left_count, *left, *bonds, *twin, *dirty, *bucket;
    int32_t dirty_count, memory_entries;
    int64_t memory_words, words_per_set;
    bool *unplaced, *is_dirty, no_memory;
    uint64_t *set, *pool;
    impossible *memory;
    change *trail;
    int64_t trail_count, trail_room;
    decision *stack;
    int32_t *way;
    int64_t stack_room, way_room;
} search;

/* --- state and its trail --- */

static void put_back(search *p, int32_t v) {
    for (int32_t s = p->lo[v]; s < p->hi[v]; s++) {
        int32_t *left = p->left + p->start[s], k = p->left_count[s]++;
        for (; k > 0 && left[k - 1] > v; k--) left[k] = left[k - 1];
        left[k] = v;
        p->left_size[s] += p->size[v];
        if (s + 1 < p->hi[v]) p->bonds[s]++;
    }
    p->unplaced[v] = true;
}

static void take_out(search *p, int32_t v) {
    for (int32_t s = p->lo[v]; s < p->hi[v]; s++) {
        int32_t *left = p->left + p->start[s], k = 0;
        while (left[k] != v) k++;
        memmove(left + k, left + k + 1, (size_t)(--p->left_count[s] - k) * sizeof *left);
        p->left_size[s] -= p->size[v];
        if (s + 1 < p->hi[v]) p->bonds[s]--;
    }
    p->unplaced[v] = false;
}

static void note(search *p, int64_t *cell, int64_t old) {
    if (p->trail_count == p->trail_room) {
        change *grown = realloc(p->trail, (size_t)(2 * p->trail_room) * sizeof *grown);
        if (!grown) {
            p->no_memory = true; /* the state can no longer be undone; the dive ends at its next node */
            return;
        }
        p->trail = grown;
        p->trail_room *= 2;
    }
    p->trail[p->trail_count++] = (change){cell, old};
}

static void set_cell(search *p, int64_t *cell, int64_t value) {
    if (*cell == value) return;
    note(p, cell, *cell);
    *cell = value;
}

static void undo(search *p, int64_t mark) {
    while (p->trail_count > mark) {
        change c = p->trail[--p->trail_count];
        if (c.cell) *c.cell = c.old;
        else put_back(p, (int32_t)c.old);
    }
}

static void soil(search *p, int32_t s) {
    if (p->is_dirty[s]) return;
    p->is_dirty[s] = true;
    p->dirty[p->dirty_count++] = s;
}

static void raise_top(search *p, int32_t s, int64_t height) {
    const int32_t *left = p->left + p->start[s];
    note(p, &p->top[s], p->top[s]);
    p->top[s] = height;
    soil(p, s);
    p->steps += p->left_count[s];
    for (int32_t k = 0; k < p->left_count[s]; k++) {
        int32_t v = left[k];
        if (p->floor[v] >= height) continue;
        set_cell(p, &p->floor[v], height);
        for (int32_t q = p->lo[v]; q < p->hi[v]; q++) soil(p, q);
    }
}

/* --- consequences --- */

static bool stuck(search *p, int32_t s) {
    p->trouble[s]++;
    while (p->dirty_count) p->is_dirty[p->dirty[--p->dirty_count]] = false;
    return false;
}

/* The least height at which the buffers left in a section can end, given their floors. */
static int64_t stacked(search *p, const int32_t *left, int32_t count, int64_t base) {
    int64_t *pair = p->pairs, height = base;
    for (int32_t k = 0; k < count; k++) {
        int32_t j = k;
        for (; j > 0 && pair[2 * j - 2] > p->floor[left[k]]; j--) pair[2 * j] = pair[2 * j - 2], pair[2 * j + 1] = pair[2 * j - 1];
        pair[2 * j] = p->floor[left[k]];
        pair[2 * j + 1] = p->size[left[k]];
    }
    for (int32_t k = 0; k < count; k++) height = (pair[2 * k] > height ? pair[2 * k] : height) + pair[2 * k + 1];
    return height;
}

static bool settle(search *p) {
    while (p->dirty_count) {
        int32_t s = p->dirty[--p->dirty_count], count = p->left_count[s];
        const int32_t *left = p->left + p->start[s];
        p->is_dirty[s] = false;
        if (!count) continue;
        p->steps += count;
        int64_t base = NOTHING;
        for (int32_t k = 0; k < count; k++)
            if (p->floor[left[k]] < base) base = p->floor[left[k]];
        if (base + p->left_size[s] > p->capacity) return stuck(p, s);
        if (base > p->top[s]) {
            raise_top(p, s, base);
            continue;
        }
        int64_t standing = 0, higher = NOTHING, begin_top = NOTHING, end_top = NOTHING;
        for (int32_t k = 0; k < count; k++) {
            int32_t v = left[k], twin = p->twin[v];
            int64_t at = p->floor[v], end = at + p->size[v];
            if (p->lo[v] == s && end < begin_top) begin_top = end;
            if (p->hi[v] == s + 1 && end < end_top) end_top = end;
            if (at > base) higher = at < higher ? at : higher;
            else if (twin < 0 || !p->unplaced[twin]) standing++;
        }
        set_cell(p, &p->standing[s], standing);
        set_cell(p, &p->higher[s], higher);
        set_cell(p, &p->begin_top[s], begin_top);
        set_cell(p, &p->end_top[s], end_top);
        if (higher != NOTHING && stacked(p, left, count, base) > p->capacity) return stuck(p, s);
    }
    return true;
}

static bool place(search *p, int32_t v) {
    int64_t at = p->floor[v];
    p->offset[v] = at;
    take_out(p, v);
    note(p, NULL, v);
    for (int32_t s = p->lo[v]; s < p->hi[v]; s++) raise_top(p, s, at + p->size[v]);
    return settle(p);
}

/* --- decisions --- */

static int64_t preference(const search *p, int32_t v) {
    int32_t lo = p->lo[v], hi = p->hi[v];
    int64_t sum = 0, least = NOTHING;
    switch (p->value) {
    case LENGTH: return hi - lo;
    case SIZE: return p->size[v];
    case AREA: return p->size[v] * (hi - lo);
    case SMALL: return -p->size[v];
    case TROUBLE:
        for (int32_t s = lo; s < hi; s++) sum += p->trouble[s];
        return sum;
    default:
        for (int32_t s = lo; s < hi; s++) {
            int64_t slack = p->capacity - p->top[s] - p->left_size[s];
            sum += slack;
            if (slack < least) least = slack;
        }
        return p->value == TIGHT_MEAN ? -(sum / (hi - lo)) : -least;
    }
}

static int64_t blurred(search *p, int32_t v) {
    if (!p->round) return preference(p, v);
    p->noise ^= p->noise << 13;
    p->noise ^= p->noise >> 7;
    p->noise ^= p->noise << 17;
    return preference(p, v) * (int64_t)(BLUR + p->noise % BLUR);
}

static bool choose(search *p, decision *d) {
    int32_t best = -1, q = d->a;
    int64_t fewest = 0, best_key = 0, best_lift = NOTHING;
    while (q < d->b) {
        int32_t from = q;
        int64_t base = p->top[q], left_of = NOTHING;
        while (q < d->b && p->top[q] == base) q++;
        if ((from > d->a && p->top[from - 1] < base) || (q < d->b && p->top[q] < base)) continue;
        p->steps += q - from;
        p->right_of[q - 1] = NOTHING;
        for (int32_t s = q - 1; s > from; s--) p->right_of[s - 1] = p->begin_top[s] < p->right_of[s] ? p->begin_top[s] : p->right_of[s];
        for (int32_t s = from; s < q; s++) {
            if (s > from && p->end_top[s - 1] < left_of) left_of = p->end_top[s - 1];
            int64_t ways = p->standing[s], slack = p->capacity - base - p->left_size[s], lift = NOTHING;
            if (best >= 0 && ways > fewest) continue;
            if (slack > 0) {
                lift = p->higher[s];
                if (left_of < lift) lift = left_of;
                if (p->right_of[s] < lift) lift = p->right_of[s];
            }
            if (lift - base > slack) lift = NOTHING;
            else ways++;
            if (ways == 0) return false;
            int64_t key = p->tie == SLACK ? slack : p->tie == LOW ? base : p->tie == LEFT ? s : -s;
            if (best < 0 || ways < fewest || (ways == fewest && key < best_key)) best = s, fewest = ways, best_key = key, best_lift = lift;
        }
    }
    int32_t *way = p->way + d->ways, count = 0;
    const int32_t *left = p->left + p->start[best];
    for (int32_t k = 0; k < p->left_count[best]; k++) {
        int32_t v = left[k], j = count;
        if (p->floor[v] != p->top[best] || (p->twin[v] >= 0 && p->unplaced[p->twin[v]])) continue;
        int64_t key = blurred(p, v);
        for (; j > 0 && p->key[j - 1] < key; j--) p->key[j] = p->key[j - 1], way[j] = way[j - 1];
        p->key[j] = key;
        way[j] = v;
        count++;
    }
    if (best_lift != NOTHING) way[count++] = -1 - best;
    d->count = count;
    d->lifted = best_lift;
    return true;
}

static bool wasteful(const search *p, const decision *d, int64_t base) {
    for (int32_t k = 0; k < d->count; k++) {
        int32_t u = p->way[d->ways + k];
        if (u < 0) continue;
        int32_t s = p->lo[u];
        while (s < p->hi[u] && p->top[s] >= base + p->size[u]) s++;
        if (s == p->hi[u]) return true;
    }
    return false;
}

static bool try_way(search *p, const decision *d, int32_t way) {
    if (way >= 0) return place(p, way);
    int64_t base = p->top[-1 - way];
    raise_top(p, -1 - way, d->lifted);
    return settle(p) && !wasteful(p, d, base);
}

/* --- what is known to be impossible --- */

static uint32_t set_of(search *p, const decision *d) {
    uint64_t hash = 0;
    memset(p->set, 0, (size_t)p->words_per_set * sizeof *p->set);
    for (int32_t s = d->a; s < d->b; s++)
        for (int32_t k = 0; k < p->left_count[s]; k++) {
            int32_t v = p->left[p->start[s] + k];
            if (p->lo[v] == s) p->set[v / 64] |= (uint64_t)1 << v % 64;
        }
    for (int64_t w = 0; w < p->words_per_set; w++) {
        hash = (hash ^ p->set[w]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash % MEMORY_BUCKETS);
}

static bool same_set(const search *p, const impossible *e) {
    return memcmp(p->pool + e->at, p->set, (size_t)p->words_per_set * sizeof *p->set) == 0;
}

static bool known_impossible(search *p, const decision *d) {
    for (int32_t e = p->bucket[set_of(p, d)]; e >= 0; e = p->memory[e].next) {
        if (!same_set(p, &p->memory[e])) continue;
        const int64_t *tops = (const int64_t *)(p->pool + p->memory[e].at + p->words_per_set);
        int32_t s = d->a;
        while (s < d->b && p->top[s] >= tops[s - d->a]) s++;
        if (s == d->b) return true;
    }
    return false;
}

static void forget(search *p) {
    p->memory_entries = 0;
    p->memory_words = 0;
    memset(p->bucket, 0xff, MEMORY_BUCKETS * sizeof *p->bucket); /* all -1 */
}

static void remember(search *p, const decision *d) {
    int64_t words = p->words_per_set + d->b - d->a;
    if (p->memory_entries == MEMORY_ENTRIES || p->memory_words + words > MEMORY_WORDS) forget(p);
    uint32_t bucket = set_of(p, d);
    int known = 0;
    for (int32_t e = p->bucket[bucket]; e >= 0; e = p->memory[e].next) known += same_set(p, &p->memory[e]);
    if (known >= MEMORY_PER_SET || words > MEMORY_WORDS) return;
    p->memory[p->memory_entries] = (impossible){p->bucket[bucket], d->b - d->a, p->memory_words};
    p->bucket[bucket] = p->memory_entries++;
    memcpy(p->pool + p->memory_words, p->set, (size_t)p->words_per_set * sizeof *p->set);
    memcpy(p->pool + p->memory_words + p->words_per_set, p->top + d->a, (size_t)(d->b - d->a) * sizeof *p->top);
    p->memory_words += words;
}

/* --- the dive --- */

static bool make_room(search *p, int64_t depth, int64_t ways) {
    if (depth >= p->stack_room) {
        decision *grown = realloc(p->stack, (size_t)(2 * p->stack_room) * sizeof *grown);
        if (!grown) return false;
        p->stack = grown;
        p->stack_room *= 2;
    }
    if (ways + p->count + 1 > p->way_room) {
        int64_t room = 2 * (ways + p->count + 1);
        int32_t *grown = realloc(p->way, (size_t)room * sizeof *grown);
        if (!grown) return false;
        p->way = grown;
        p->way_room = room;
    }
    return true;
}

static int dive(search *p) {
    int64_t depth = 0;
    p->stack[0] = (decision){.a = 0, .b = p->sections, .mark = p->trail_count};
    for (;;) {
        decision *d = &p->stack[depth];
        int32_t a = d->next_section, b;
        while (a < d->b && !p->left_count[a]) a++;
        if (a == d->b) {
            if (depth-- == 0) return TJ_PACK_FOUND;
            continue;
        }
        for (b = a; p->bonds[b];) b++;
        d->next_section = b + 1;
        int32_t ways = d->ways + d->count;
        if (!make_room(p, ++depth, ways)) return TJ_PACK_NO_MEMORY;
        d = &p->stack[depth];
        *d = (decision){.a = a, .b = b + 1, .next_section = a, .ways = ways, .mark = p->trail_count};
        p->nodes++;
        if (p->no_memory) return TJ_PACK_NO_MEMORY;
        if (p->steps > p->budget || p->nodes > p->node_limit) return TJ_PACK_EXHAUSTED;
        if (known_impossible(p, d)) depth--;
        else if (!choose(p, d)) {
            remember(p, d);
            depth--;
        }
        for (;;) {
            if (depth == 0) return TJ_PACK_IMPOSSIBLE;
            d = &p->stack[depth];
            undo(p, d->mark);
            if (d->tried < d->count) {
                if (try_way(p, d, p->way[d->ways + d->tried++])) {
                    d->next_section = d->a;
                    break;
                }
                if (p->no_memory) return TJ_PACK_NO_MEMORY;
                continue;
            }
            if (d->count != 1) remember(p, d);
            depth--;
        }
    }
}

static int run(search *p) {
    for (int32_t v = 0; v < p->count; v++) {
        put_back(p, v);
        p->twin[v] = -1;
        /* Rows come sorted by size and place, so a twin can only be the row before. */
        if (v && p->size[v - 1] == p->size[v] && p->lo[v - 1] == p->lo[v] && p->hi[v - 1] == p->hi[v]) p->twin[v] = v - 1;
    }
    for (int32_t s = 0; s < p->sections; s++) {
        p->higher[s] = p->begin_top[s] = p->end_top[s] = NOTHING;
        soil(p, s);
    }
    forget(p);
    if (!settle(p)) return TJ_PACK_IMPOSSIBLE;
    int64_t mark = p->trail_count;
    p->noise = UINT64_C(88172645463325252);
    for (int64_t length = (int64_t)FIRST_DIVE * p->count;; length *= 1 + p->round++ % 2)
        for (size_t t = 0; t < sizeof tastes / sizeof *tastes; t++) {
            undo(p, mark);
            p->value = tastes[t][0];
            p->tie = tastes[t][1];
            p->node_limit = p->nodes + length;
            int outcome = dive(p);
            if (outcome != TJ_PACK_EXHAUSTED || p->steps > p->budget) return outcome;
        }
}

int tj_pack(int32_t count, int32_t sections, const int32_t *lo, const int32_t *hi, const int64_t *size, int64_t capacity, int64_t budget,
            int64_t *offset, int64_t *steps) {
    int64_t area = 0;
    for (int32_t v = 0; v < count; v++) area += hi[v] - lo[v];
    steps[0] = 0;
    if (area > budget) return TJ_PACK_EXHAUSTED;
    search p = {.count = count, .sections = sections, .lo = lo, .hi = hi, .size = size, .capacity = capacity, .budget = budget, .offset = offset};
    size_t n = (size_t)count + 1, m = (size_t)sections + 1;
    p.steps = area;
    p.words_per_set = (count + 63) / 64;
    p.trail_room = 1 << 16;
    p.stack_room = 1 << 10;
    p.way_room = 1 << 12;
    if (p.way_room < count + 1) p.way_room = count + 1;
    /* One block each of 64-bit, 32-bit and bool columns, cut up below. */
    int64_t *wide = calloc(9 * m + 4 * n, sizeof *wide);
    int32_t *narrow = calloc(4 * m + n + (size_t)area + 1 + MEMORY_BUCKETS, sizeof *narrow);
    bool *flags = calloc(m + n, sizeof *flags);
    p.set = calloc((size_t)p.words_per_set + 1, sizeof *p.set);
    p.pool = malloc((size_t)MEMORY_WORDS * sizeof *p.pool);
    p.memory = malloc((size_t)MEMORY_ENTRIES * sizeof *p.memory);
    p.trail = malloc((size_t)p.trail_room * sizeof *p.trail);
    p.stack = malloc((size_t)p.stack_room * sizeof *p.stack);
    p.way = malloc((size_t)p.way_room * sizeof *p.way);
    int outcome = TJ_PACK_NO_MEMORY;
    if (wide && narrow && flags && p.set && p.pool && p.memory && p.trail && p.stack && p.way) {
        int64_t **by_section[] = {&p.top, &p.left_size, &p.standing, &p.higher, &p.begin_top, &p.end_top, &p.trouble, &p.right_of};
        for (size_t k = 0; k < sizeof by_section / sizeof *by_section; k++) *by_section[k] = wide + k * m;
        p.floor = wide + 9 * m;
        p.key = p.floor + n;
        p.pairs = p.key + n;
        p.left_count = narrow;
        p.bonds = narrow + m;
        p.dirty = narrow + 2 * m;
        p.start = narrow + 3 * m;
        p.twin = narrow + 4 * m;
        p.left = p.twin + n;
        p.bucket = p.left + area + 1;
        p.is_dirty = flags;
        p.unplaced = flags + m;
        for (int32_t v = 0; v < count; v++)
            for (int32_t s = lo[v]; s < hi[v]; s++) p.start[s + 1]++;
        for (int32_t s = 0; s < sections; s++) p.start[s + 1] += p.start[s];
        outcome = run(&p);
    }
    steps[0] = p.steps;
    free(wide), free(narrow), free(flags), free(p.set), free(p.pool), free(p.memory), free(p.trail), free(p.stack), free(p.way);
    return outcome;
}
