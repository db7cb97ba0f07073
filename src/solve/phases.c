#include "solve/phases.h"

#include <string.h>

#include "base/clock.h"

void phases_init(struct phases *phases)
{
    *phases = (struct phases){
        .name =
            {
#define PHASE_NAME(name, text) [PHASE_##name] = text,
                PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
            },
    };
    atomic_init(&phases->present, PHASE_START);
    atomic_init(&phases->since, phases_now());
}

int64_t phases_now(void)
{
    return (int64_t)(clock_seconds() * 1e9);
}

/* Each value has one writing thread, so the update needs no atomic operation. */
static void keep_longest(_Atomic int64_t *longest, int64_t stay)
{
    if (stay > atomic_load_explicit(longest, memory_order_relaxed)) {
        atomic_store_explicit(longest, stay, memory_order_relaxed);
    }
}

int phases_enter(struct phases *phases, int phase)
{
    const int64_t now = phases_now();
    const int64_t stay = now - atomic_load_explicit(&phases->since, memory_order_relaxed);
    const int left = atomic_load_explicit(&phases->present, memory_order_relaxed);
    phases->seconds[left] += (double)stay * 1e-9;
    keep_longest(&phases->longest[left], stay);
    atomic_store_explicit(&phases->present, phase, memory_order_relaxed);
    atomic_store_explicit(&phases->since, now, memory_order_relaxed);
    return left;
}

void phases_leave(const struct phase_stay *stay)
{
    phases_enter(stay->phases, stay->before);
}

void phases_restart(struct phases *phases)
{
    phases_enter(phases, PHASE_OTHER);
    memset(phases->seconds, 0, sizeof phases->seconds);
}

void phases_write_begin(struct phases *phases, int kind)
{
    atomic_store(&phases->written, kind);
    atomic_store(&phases->write_since, phases_now());
}

void phases_write_end(struct phases *phases)
{
    const int64_t taken = phases_now() - atomic_load(&phases->write_since);
    keep_longest(&phases->longest_write[atomic_load(&phases->written)], taken);
    atomic_store(&phases->write_since, 0);
}
