/* Where this process runs: host, cores, NUMA nodes, and how far its device is from them. */
#ifndef ISOTHERM_MACHINE_MACHINE_H
#define ISOTHERM_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Cores of one machine by their number there; beyond this many they are not told apart. */
enum { MACHINE_MAX_CORES = 1024, CORE_SET_WORDS = MACHINE_MAX_CORES / 64 };

struct core_set {
    uint64_t word[CORE_SET_WORDS];
};

static inline int core_set_count(const struct core_set *set)
{
    int count = 0;
    for (int w = 0; w < CORE_SET_WORDS; w++) {
        count += __builtin_popcountll(set->word[w]);
    }
    return count;
}

static inline void core_set_add(struct core_set *set, int core)
{
    if (core >= 0 && core < MACHINE_MAX_CORES) {
        set->word[core / 64] |= (uint64_t)1 << (core % 64);
    }
}

static inline bool core_set_has(const struct core_set *set, int core)
{
    return (set->word[core / 64] >> core % 64 & 1) != 0;
}

static inline void core_set_unite(struct core_set *set, const struct core_set *other)
{
    for (int w = 0; w < CORE_SET_WORDS; w++) {
        set->word[w] |= other->word[w];
    }
}

struct machine {
    char host[64];
    char cpus[128];        /* that this process may use, as taskset writes them: "0-7,64-71" */
    struct core_set cores; /* to which these belong; hyperthreads of one core count once */
    int machine_cores;     /* all that the machine has */
    int numa_nodes;        /* of the machine */
    uint64_t numa;         /* bit n: NUMA node n has some of the CPUs */
    int device_numa;       /* NUMA node that the device is attached to; -1: none, or unknown */
    int device_index;      /* its place among the machine's devices of its kind, in the order of */
                           /* their PCI addresses; -1: unknown */
};

/* Ask hwloc. `pci`: the device's address ("0000:c1:00.0"), "" for none. A process with several
 * threads: the CPUs of all of them. What cannot be found out stays 0, "" or -1. The first answer
 * is kept: asking takes some 30 ms. Not collective. */
void machine_examine(const char *pci, struct machine *machine);

#endif
