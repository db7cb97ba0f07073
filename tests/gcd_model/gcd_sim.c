/* Event-driven simulation of one GCD of an MI250X that runs the program of a wave: workgroups
 * dispatched in order, the memory pipe of each compute unit with its L1 cache, the
 * L2 cache, and the memory as one queue. It counts the lines that cross the second-level
 * cache and measures the time. docs/developers/gcd_model.md has the equations and the sources of
 * the constants.
 *
 * usage: gcd_sim [NAME=NUMBER...] < INPUT      numbers: see the table of parameters
 * Input, a word and integers per line:
 *   blocks NX NY NZ          dispatched with x fastest
 *   edge BYTES               the most of a piece in the last blocks in x, which end there
 *   memory BASE SX SY SZ     bytes: an address space, and its strides from block to block; in order
 *   wave OFFSET...           bytes: of the next wave of a block, one per memory
 *   L|S MEMORY HINT N (FIRST LENGTH)...   load or store of N pieces; HINT 1: nontemporal
 *   W N      wait until at most N loads and stores are not complete
 *   C B T    vector instructions that keep the SIMD for B cycles and the wave for T
 *   D C L    shared memory or scalar loads: C cycles of the pipe, L cycles of latency; K: wait
 *   B        barrier of the block
 *   E        end of a program: the next waves of a block run the next one, the rest the last
 * Output: fetch, write (lines), ns, from the time when `skip` blocks were complete to the time when
 * the last was dispatched (skip = 0: from the first to the last event), and the blocks in it. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUS = 110,
    SIMDS = 4,
    CHANNELS = 32,
    WAYS = 16,
    LINE_BITS = 7,
    L1_SETS = 32,
    L1_WAYS = 4,
    PENDING = 256, /* loads and stores of a wave */
    MEMORIES = 4,
    WAVES = 16, /* of a block */
    CU_WAVES = 64
};

/* The parameters: name, default; times in ns. */
#define PARAMETERS(X)                                                                              \
    X(resident, 8)  /* blocks of a compute unit */                                                 \
    X(skip, 0)      /* blocks before the measurement */                                            \
    X(clock, 1.7)   /* GHz */                                                                      \
    X(memory, 1122) /* GB/s */                                                                     \
    X(misses, 256)  /* of the L1 cache, in flight per compute unit */                              \
    X(near, 150)    /* latency of the L2 cache */                                                  \
    X(far, 450)     /* and in addition of the memory */                                            \
    X(l1, 70)       /* latency of the L1 cache */                                                  \
    X(cache, 8)     /* MiB of the L2 cache */                                                      \
    X(youngest, 0)  /* 1: waves of a compute unit in the order of arrival */
#define PARAMETER_FIELD(name, otherwise) double name;
#define PARAMETER_VALUE(name, otherwise) .name = (otherwise),
#define PARAMETER_NAME(name, otherwise) {#name, &parameter.name},
static struct {
    PARAMETERS(PARAMETER_FIELD)
} parameter = {PARAMETERS(PARAMETER_VALUE)};
static const struct {
    const char *name;
    double *value;
} parameter_names[] = {PARAMETERS(PARAMETER_NAME)};

struct piece {
    int64_t first, length;
};
struct op {
    char kind;
    int a, b; /* the numbers of the line; of L and S the memory and the hint */
    int npieces;
    struct piece *pieces;
};
static struct op *ops;
static int nops, program_begin[WAVES + 1], nprograms;
static int64_t blocks[3], edge = INT64_MAX;
static int64_t base[MEMORIES], stride[MEMORIES][3], wave_offset[WAVES][MEMORIES];
static int nmemories, waves_per_block;

struct line {
    uint64_t tag, used; /* used 0: empty; 1: the next to go */
    double ready;
    int dirty;
};
static struct line *l2, *l1;
static uint64_t sets, tick = 1;
static double channel_free[CHANNELS], memory_free;
static uint64_t fetched, written;

struct wave {
    int64_t block, origin[MEMORIES], most; /* most bytes of a piece */
    int number, pc, piece;
    uint64_t line;           /* the next of the piece; 0: its first */
    double done;             /* of the instruction in the pipe */
    double pending[PENDING]; /* ends of loads and stores, a ring */
    int first, npending;
    double shared; /* end of the accesses to shared memory */
};
struct unit {
    int queue[CU_WAVES], nqueue, current, busy; /* waves with a memory instruction */
    double *miss;                               /* ends of the misses, a ring */
    int first_miss, nmisses;
    double simd_free[SIMDS], shared_free;
};
static struct wave *waves;
static struct unit units[CUS];
static double *when; /* of the events: waves, then units */
static int *heap, nheap, nwaves;

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (memory == NULL) {
        fprintf(stderr, "gcd_sim: no memory\n");
        exit(1);
    }
    return memory;
}

static void push(int event, double time)
{
    int at = nheap++;
    when[event] = time;
    while (at > 0 && time < when[heap[(at - 1) / 2]]) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = event;
}

static int pop(void)
{
    const int top = heap[0];
    const int last = heap[--nheap];
    int at = 0;
    for (int child = 1; child < nheap; child = 2 * at + 1) {
        if (child + 1 < nheap && when[heap[child + 1]] < when[heap[child]]) {
            child++;
        }
        if (when[last] <= when[heap[child]]) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

static double memory_takes_line(double time)
{
    memory_free = max(memory_free, time) + (1 << LINE_BITS) / parameter.memory;
    return memory_free;
}

/* The time when a line is there, or is taken by the cache. Channels interleave at 256 bytes; both
 * channels and sets are hashed. Whole lines are stored, without a fetch. */
static double access_l2(uint64_t number, int store, int hint, double time)
{
    const int channel = (int)(mixed((number >> 1) + 77) % CHANNELS);
    struct line *set = l2 + ((uint64_t)channel * sets + mixed(number * 3 + 5) % sets) * WAYS;
    struct line *chosen = set;
    const double at = max(channel_free[channel], time);
    channel_free[channel] = at + (store ? 2 : 1) / parameter.clock;
    for (int way = 0; way < WAYS; way++) {
        if (set[way].used > 0 && set[way].tag == number) {
            chosen = &set[way];
            chosen->dirty |= store;
            chosen->used = store && hint ? 1 : ++tick;
            return store ? at + parameter.near : max(at + parameter.near, chosen->ready);
        }
        if (set[way].used < chosen->used) {
            chosen = &set[way];
        }
    }
    if (chosen->used > 0 && chosen->dirty) {
        written++;
        (void)memory_takes_line(at);
    }
    *chosen = (struct line){.tag = number, .used = store && hint ? 1 : ++tick, .dirty = store};
    if (store) {
        return at + parameter.near;
    }
    fetched++;
    return chosen->ready = memory_takes_line(at) + parameter.far;
}

/* A line through the L1 cache of a unit; negative: no miss can begin before -result. */
static double load_line(int number_of_unit, uint64_t number, double time)
{
    struct unit *unit = &units[number_of_unit];
    const int most = (int)parameter.misses;
    struct line *set =
        l1 + ((uint64_t)number_of_unit * L1_SETS + mixed(number) % L1_SETS) * L1_WAYS;
    struct line *chosen = set;
    for (int way = 0; way < L1_WAYS; way++) {
        if (set[way].used > 0 && set[way].tag == number) {
            set[way].used = ++tick;
            return max(time + parameter.l1, set[way].ready);
        }
        if (set[way].used < chosen->used) {
            chosen = &set[way];
        }
    }
    while (unit->nmisses > 0 && unit->miss[unit->first_miss] <= time) {
        unit->first_miss = (unit->first_miss + 1) % most;
        unit->nmisses--;
    }
    if (unit->nmisses == most) {
        return -unit->miss[unit->first_miss];
    }
    const double ready = access_l2(number, 0, 0, time);
    *chosen = (struct line){.tag = number, .used = ++tick, .ready = ready};
    unit->miss[(unit->first_miss + unit->nmisses++) % most] = ready;
    return ready;
}

/* The wave whose memory instruction is next: the oldest, as the chip prefers. */
static int take_next(struct unit *unit)
{
    int best = 0;
    for (int q = 1; q < unit->nqueue && parameter.youngest == 0; q++) {
        const struct wave *wave = &waves[unit->queue[q]];
        const struct wave *other = &waves[unit->queue[best]];
        if (wave->block < other->block ||
            (wave->block == other->block && wave->number < other->number)) {
            best = q;
        }
    }
    const int taken = unit->queue[best];
    unit->nqueue--;
    memmove(&unit->queue[best], &unit->queue[best + 1],
            (size_t)(unit->nqueue - best) * sizeof unit->queue[0]);
    return taken;
}

/* The memory instruction at the head of a unit's pipe, 64 bytes per clock; where no miss can begin,
 * the pipe waits. */
static void advance_pipe(int number, double time)
{
    struct unit *unit = &units[number];
    if (unit->current < 0) {
        unit->busy = unit->nqueue > 0;
        if (!unit->busy) {
            return;
        }
        unit->current = take_next(unit);
    }
    struct wave *wave = &waves[unit->current];
    const struct op *op = &ops[wave->pc];
    while (wave->piece < op->npieces) {
        const struct piece *piece = &op->pieces[wave->piece];
        const uint64_t address = (uint64_t)(wave->origin[op->a] + piece->first);
        const int64_t length = piece->length < wave->most ? piece->length : wave->most;
        const uint64_t last = (address + (uint64_t)length - 1) >> LINE_BITS;
        const uint64_t line = (address >> LINE_BITS) + wave->line;
        const double ready =
            op->kind == 'L' ? load_line(number, line, time) : access_l2(line, 1, op->b, time);
        if (ready < 0) {
            push(nwaves + number, -ready);
            return;
        }
        wave->done = max(wave->done, ready);
        wave->line = line == last ? 0 : wave->line + 1;
        wave->piece += line == last;
        time += 2 / parameter.clock;
    }
    if (wave->npending == PENDING) {
        fprintf(stderr, "gcd_sim: more than %d accesses of a wave in flight\n", PENDING);
        exit(1);
    }
    wave->pending[(wave->first + wave->npending++) % PENDING] = wave->done;
    wave->pc++;
    push(unit->current, time);
    unit->current = -1;
    push(nwaves + number, time);
}

static void start_block(int slot, int64_t block, double time)
{
    const int64_t at[3] = {block % blocks[0], block / blocks[0] % blocks[1],
                           block / blocks[0] / blocks[1]};
    for (int n = 0; n < waves_per_block; n++) {
        struct wave *wave = &waves[slot * waves_per_block + n];
        *wave = (struct wave){.block = block, .number = n};
        wave->pc = program_begin[n < nprograms ? n : nprograms - 1];
        wave->most = at[0] == blocks[0] - 1 ? edge : INT64_MAX;
        for (int m = 0; m < nmemories; m++) {
            wave->origin[m] = base[m] + wave_offset[n][m] + at[0] * stride[m][0] +
                              at[1] * stride[m][1] + at[2] * stride[m][2];
        }
        push(slot * waves_per_block + n, time);
    }
}

/* The next operation of a wave, which does not end here. */
static void advance_wave(int event, double time, int slots, int *met, double *met_at)
{
    struct wave *wave = &waves[event];
    const struct op *op = &ops[wave->pc];
    const int slot = event / waves_per_block;
    const int number = slot / slots;
    struct unit *unit = &units[number];
    double *simd = &unit->simd_free[event % SIMDS];
    switch (op->kind) {
    case 'W':
        for (; wave->npending > op->a; wave->npending--) {
            time = max(time, wave->pending[wave->first]);
            wave->first = (wave->first + 1) % PENDING;
        }
        break;
    case 'C':
        time = max(time, *simd);
        *simd = time + op->a / parameter.clock;
        time += op->b / parameter.clock;
        break;
    case 'D':
        unit->shared_free = max(time, unit->shared_free) + op->a / parameter.clock;
        wave->shared = max(wave->shared, unit->shared_free + op->b / parameter.clock);
        break;
    case 'K':
        time = max(time, wave->shared);
        break;
    case 'B':
        wave->pc++;
        met_at[slot] = max(met_at[slot], time);
        if (++met[slot] == waves_per_block) {
            for (int n = 0; n < waves_per_block; n++) {
                push(slot * waves_per_block + n, met_at[slot]);
            }
            met[slot] = 0;
            met_at[slot] = 0;
        }
        return;
    default: /* a memory instruction waits for the pipe */
        wave->piece = 0;
        wave->line = 0;
        wave->done = time;
        unit->queue[unit->nqueue++] = event;
        if (!unit->busy) {
            unit->busy = 1;
            push(nwaves + number, time);
        }
        return;
    }
    wave->pc++;
    push(event, time);
}

static void simulate(void)
{
    const int slots = (int)parameter.resident;
    const int64_t all = blocks[0] * blocks[1] * blocks[2];
    const double dispatch = 2 / parameter.clock;
    const int nslots = CUS * slots;
    int *left = allocate((size_t)nslots, sizeof *left);
    int *met = allocate((size_t)nslots, sizeof *met);
    double *met_at = allocate((size_t)nslots, sizeof *met_at);
    int64_t next = 0, done = 0;
    double dispatched = 0, start = 0, time = 0;
    uint64_t fetched_before = 0, written_before = 0;
    nwaves = nslots * waves_per_block;
    waves = allocate((size_t)nwaves, sizeof *waves);
    when = allocate((size_t)nwaves + CUS, sizeof *when);
    heap = allocate((size_t)nwaves + CUS, sizeof *heap);
    for (int n = 0; n < CUS; n++) {
        units[n].current = -1;
        units[n].miss = allocate((size_t)parameter.misses, sizeof *units[n].miss);
    }
    for (int slot = 0; slot < nslots && next < all; slot++) {
        dispatched += dispatch;
        left[slot % CUS * slots + slot / CUS] = waves_per_block;
        start_block(slot % CUS * slots + slot / CUS, next++, dispatched);
    }
    while (nheap > 0) {
        const int event = pop();
        time = when[event];
        if (event >= nwaves) {
            advance_pipe(event - nwaves, time);
        } else if (ops[waves[event].pc].kind != 'E') {
            advance_wave(event, time, slots, met, met_at);
        } else if (--left[event / waves_per_block] == 0) {
            done++;
            if (done == (int64_t)parameter.skip) {
                start = time;
                fetched_before = fetched;
                written_before = written;
            }
            if (next < all) {
                dispatched = max(dispatched, time) + dispatch;
                left[event / waves_per_block] = waves_per_block;
                start_block(event / waves_per_block, next++, dispatched);
            } else if (parameter.skip > 0) {
                break; /* the end is not steady */
            }
        }
    }
    printf("fetch %" PRIu64 " write %" PRIu64 " ns %.1f blocks %" PRId64 "\n",
           fetched - fetched_before, written - written_before, time - start,
           done - (int64_t)parameter.skip);
}

static void read_op(char kind)
{
    if (nops % 1024 == 0) {
        ops = realloc(ops, (size_t)(nops + 1024) * sizeof *ops);
    }
    struct op *op = &ops[nops++];
    *op = (struct op){.kind = kind};
    const int wanted = strchr("LSCD", kind) != NULL ? 2 : kind == 'W' ? 1 : 0;
    bool complete =
        (wanted < 1 || scanf("%d", &op->a) == 1) && (wanted < 2 || scanf("%d", &op->b) == 1);
    if (kind == 'L' || kind == 'S') {
        complete &= scanf("%d", &op->npieces) == 1;
        op->pieces = allocate((size_t)op->npieces, sizeof *op->pieces);
        for (int n = 0; n < op->npieces; n++) {
            struct piece *piece = &op->pieces[n];
            complete &= scanf("%" SCNd64 " %" SCNd64, &piece->first, &piece->length) == 2;
        }
    }
    if (kind == 'E' && nprograms < WAVES) {
        program_begin[++nprograms] = nops;
    }
    if (!complete) {
        fprintf(stderr, "gcd_sim: operation %d is incomplete\n", nops);
        exit(1);
    }
}

static void read_numbers(int64_t *to, int n)
{
    for (int i = 0; i < n; i++) {
        if (scanf("%" SCNd64, &to[i]) != 1) {
            fprintf(stderr, "gcd_sim: a number is missing\n");
            exit(1);
        }
    }
}

static void read_input(void)
{
    char word[16];
    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "blocks") == 0) {
            read_numbers(blocks, 3);
        } else if (strcmp(word, "edge") == 0) {
            read_numbers(&edge, 1);
        } else if (strcmp(word, "memory") == 0 && nmemories < MEMORIES) {
            read_numbers(&base[nmemories], 1);
            read_numbers(stride[nmemories++], 3);
        } else if (strcmp(word, "wave") == 0 && waves_per_block < WAVES) {
            read_numbers(wave_offset[waves_per_block++], nmemories);
        } else if (strlen(word) == 1 && strchr("LSWCDKBE", word[0]) != NULL) {
            read_op(word[0]);
        } else {
            fprintf(stderr, "gcd_sim: %s is not expected here\n", word);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    for (int n = 1; n < argc; n++) {
        size_t found = 0;
        const size_t all = sizeof parameter_names / sizeof parameter_names[0];
        const char *value = strchr(argv[n], '=');
        for (; found < all; found++) {
            const char *name = parameter_names[found].name;
            if (value != NULL && strlen(name) == (size_t)(value - argv[n]) &&
                strncmp(argv[n], name, strlen(name)) == 0) {
                *parameter_names[found].value = strtod(value + 1, NULL);
                break;
            }
        }
        if (found == all) {
            fprintf(stderr, "gcd_sim: %s is not a parameter\n", argv[n]);
            return 2;
        }
    }
    read_input();
    sets = (uint64_t)(parameter.cache * 1048576) >> LINE_BITS;
    sets /= CHANNELS * WAYS;
    l2 = allocate(CHANNELS * sets * WAYS, sizeof *l2);
    l1 = allocate((size_t)CUS * L1_SETS * L1_WAYS, sizeof *l1);
    simulate();
    return 0;
}
