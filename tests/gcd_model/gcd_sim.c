/* Event-driven simulation of one GCD of an MI250X that runs the program of a wave: workgroups
 * dispatched in order, the memory pipe of each compute unit with its L1 cache, the
 * L2 cache, and the memory as one queue. It counts the lines that cross the second-level
 * cache and measures the time. docs/developers/gcd_model.md has the equations and the sources of
 * the constants.
 *
 * usage: gcd_sim [NAME=NUMBER...] < INPUT
 * Numbers: see the table of parameters. Input: gcd_input.c.
 * Output: fetch, write (lines), ns, from the time when `skip` blocks were complete to the time when
 * the last was dispatched (skip = 0: from the first to the last event), and the blocks in it; with
 * two launches the ends of both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcd_input.h"

enum {
    CUS = 110,
    SIMDS = 4,
    CHANNELS = 32,
    LINE_BITS = 7,
    L2_WAYS = 16,
    L1_SETS = 32,
    L1_WAYS = 4,
    PENDING = 256, /* loads and stores of a wave */
    CU_WAVES = 64,
    UNIT_LDS = 65536,
    UNIT_REGISTERS = 2048
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
    struct launch *of;
    int slot;
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
    int64_t lds, registers; /* not taken */
};
static struct wave *waves;
static struct unit units[CUS];
static double *when; /* of the events: waves, then units */
static int *heap, nheap, nwaves;

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
    struct line *set = l2 + ((uint64_t)channel * sets + mixed(number * 3 + 5) % sets) * L2_WAYS;
    struct line *chosen = set;
    const double at = max(channel_free[channel], time);
    channel_free[channel] = at + (store ? 2 : 1) / parameter.clock;
    for (int way = 0; way < L2_WAYS; way++) {
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

static double dispatched; /* the time when the last block was */

/* Start the next block of a launch, where the unit has room for it. */
static bool start_block(struct launch *l, int number, double time)
{
    struct unit *unit = &units[number];
    int slot = number * l->resident;
    while (slot < (number + 1) * l->resident && l->slots[slot].left > 0) {
        slot++;
    }
    if (l->next == l->all || time < (double)l->after || slot == (number + 1) * l->resident ||
        unit->lds < l->needs[0] || unit->registers < l->needs[1]) {
        return false;
    }
    const int64_t block = l->next++;
    const int64_t at[3] = {block % l->blocks[0], block / l->blocks[0] % l->blocks[1],
                           block / l->blocks[0] / l->blocks[1]};
    dispatched = max(dispatched, time) + 2 / parameter.clock;
    unit->lds -= l->needs[0];
    unit->registers -= l->needs[1];
    l->slots[slot] = (struct slot){.left = l->waves_per_block};
    const bool last = at[1] == l->blocks[1] - 1;
    const bool edge = at[0] == 0 || at[0] == l->blocks[0] - 1 || at[1] == 0;
    const struct programs *of = &l->programs[last && l->nsets > 0 ? 1 : edge ? l->nsets : 0];
    for (int n = 0; n < l->waves_per_block; n++) {
        const int event = l->first_wave + slot * l->waves_per_block + n;
        struct wave *wave = &waves[event];
        *wave = (struct wave){.of = l, .slot = slot, .block = block, .number = n};
        wave->pc = of->begin[n < of->count ? n : of->count - 1];
        wave->most = at[0] == l->blocks[0] - 1 ? l->edge : INT64_MAX;
        for (int m = 0; m < l->nmemories; m++) {
            wave->origin[m] = l->base[m] + l->wave_offset[n][m] + at[0] * l->stride[m][0] +
                              at[1] * l->stride[m][1] + at[2] * l->stride[m][2];
        }
        push(event, dispatched);
    }
    return true;
}

/* The next operation of a wave, which does not end here. */
static void advance_wave(int event, double time)
{
    struct wave *wave = &waves[event];
    const struct op *op = &ops[wave->pc];
    struct slot *slot = &wave->of->slots[wave->slot];
    const int number = wave->slot / wave->of->resident;
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
        slot->met_at = max(slot->met_at, time);
        if (++slot->met == wave->of->waves_per_block) {
            for (int n = 0; n < slot->met; n++) {
                push(event - wave->number + n, slot->met_at);
            }
            slot->met = 0;
            slot->met_at = 0;
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

static void prepare(struct launch *l)
{
    if (l->needs[0] == 0 && l->needs[1] == 0) {
        l->needs[0] = UNIT_LDS / (int64_t)parameter.resident;
    }
    l->resident = l->needs[0] > 0 ? (int)(UNIT_LDS / l->needs[0]) : CU_WAVES;
    if (l->needs[1] * l->resident > UNIT_REGISTERS) {
        l->resident = (int)(UNIT_REGISTERS / l->needs[1]);
    }
    l->all = l->blocks[0] * l->blocks[1] * l->blocks[2];
    l->first_wave = nwaves;
    l->slots = allocate((size_t)CUS * (size_t)l->resident, sizeof *l->slots);
    nwaves += CUS * l->resident * l->waves_per_block;
}

static void start_launch(struct launch *l, double time)
{
    for (int slot = 0; slot < CUS * l->resident; slot++) {
        (void)start_block(l, slot % CUS, time);
    }
}

/* The last wave of a block has ended. */
static void end_block(const struct wave *wave, double time)
{
    struct unit *unit = &units[wave->slot / wave->of->resident];
    wave->of->done++;
    wave->of->end = time;
    unit->lds += wave->of->needs[0];
    unit->registers += wave->of->needs[1];
    for (int l = nlaunches - 1; l >= 0; l--) {
        while (start_block(&launches[l], (int)(unit - units), time)) {
        }
    }
}

static void simulate(void)
{
    double start = 0, time = 0;
    uint64_t fetched_before = 0, written_before = 0;
    for (int l = 0; l < nlaunches; l++) {
        prepare(&launches[l]);
    }
    waves = allocate((size_t)nwaves, sizeof *waves);
    when = allocate((size_t)nwaves + CUS + LAUNCHES, sizeof *when);
    heap = allocate((size_t)nwaves + CUS + LAUNCHES, sizeof *heap);
    for (int n = 0; n < CUS; n++) {
        units[n] = (struct unit){.current = -1, .lds = UNIT_LDS, .registers = UNIT_REGISTERS};
        units[n].miss = allocate((size_t)parameter.misses, sizeof *units[n].miss);
    }
    for (int l = nlaunches - 1; l >= 0; l--) {
        if (launches[l].after > 0) {
            push(nwaves + CUS + l, (double)launches[l].after);
        } else {
            start_launch(&launches[l], 0);
        }
    }
    while (nheap > 0) {
        const int event = pop();
        time = when[event];
        if (event >= nwaves + CUS) {
            start_launch(&launches[event - nwaves - CUS], time);
        } else if (event >= nwaves) {
            advance_pipe(event - nwaves, time);
        } else if (ops[waves[event].pc].kind != 'E') {
            advance_wave(event, time);
        } else if (--waves[event].of->slots[waves[event].slot].left == 0) {
            const struct launch *l = waves[event].of;
            if (l->done + 1 == (int64_t)parameter.skip) {
                start = time;
                fetched_before = fetched;
                written_before = written;
            }
            if (l->next == l->all && parameter.skip > 0) {
                launches[0].done++;
                break; /* the end is not steady */
            }
            end_block(&waves[event], time);
        }
    }
    printf("fetch %" PRIu64 " write %" PRIu64 " ns %.1f blocks %" PRId64, fetched - fetched_before,
           written - written_before, time - start, launches[0].done - (int64_t)parameter.skip);
    printf(nlaunches > 1 ? " first %.1f second %.1f\n" : "\n", launches[0].end, launches[1].end);
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
    sets /= CHANNELS * L2_WAYS;
    l2 = allocate(CHANNELS * sets * L2_WAYS, sizeof *l2);
    l1 = allocate((size_t)CUS * L1_SETS * L1_WAYS, sizeof *l1);
    simulate();
    return 0;
}
