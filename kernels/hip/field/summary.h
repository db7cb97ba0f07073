/* The summary of a field: what threads find, merged by blocks in the queue's memory, where the last
 * block of a kernel publishes it. Integers and extremes, so that the order does not matter. */
#pragma once

#include "kernels/hip/device/cells.h"

/* Integers in the order of the doubles. */
static __device__ __forceinline__ unsigned long long key_of(double value)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

static __device__ __forceinline__ double value_of(unsigned long long key)
{
    return __longlong_as_double((long long)(key >> 63 ? key & ~(1ULL << 63) : ~key));
}

enum { CHUNK = 8 }; /* cells that are looked at together */

/* What one thread has found. */
struct findings {
    double min, max;
    long long
        raw[3]; /* sums of bits: those of a tally, and `good` times those of the magic numbers */
    long long good; /* cells */
    unsigned long long bad_cells, first_bad;
    struct tally heat;

    __device__ void see_valid(double x)
    {
        const double s0 = x + 0x1.8p52;
        const double r0 = x - (s0 - 0x1.8p52);
        const double s1 = r0 + 0x1.8p12;
        const double r1 = r0 - (s1 - 0x1.8p12);
        min = x < min ? x : min;
        max = x > max ? x : max;
        raw[2] += __double_as_longlong(s0);
        raw[1] += __double_as_longlong(s1);
        raw[0] += __double_as_longlong(r1 + 0x1.8p-28);
    }

    /* CHUNK cells, if all are valid: without branches between them, so that their chains of
     * additions run at the same time. Else returns false. */
    template <typename REAL> __device__ bool see_all(const vec16<REAL> *vectors)
    {
        constexpr int N = vec16<REAL>::N;
        bool valid = true;
#pragma unroll
        for (int c = 0; c < CHUNK; c++) {
            valid = valid & (fabs((double)vectors[c / N].v[c % N]) < EXACT_SUM_LIMIT);
        }
        if (valid) {
#pragma unroll
            for (int c = 0; c < CHUNK; c++) {
                see_valid((double)vectors[c / N].v[c % N]);
            }
            good += CHUNK;
        }
        return valid;
    }

    __device__ void see(double x, int64_t index)
    {
        if (fabs(x) < EXACT_SUM_LIMIT) { /* false for NaN */
            see_valid(x);
            good++;
        } else {
            const unsigned long long at = (unsigned long long)index;
            bad_cells++;
            first_bad = at < first_bad ? at : first_bad;
        }
    }

    /* See exact_parts in base/exact_sum.h; integers wrap on the way, but not in the end. */
    __device__ struct tally tally() const
    {
        return {raw[0] - good * __double_as_longlong(0x1.8p-28),
                raw[1] - good * __double_as_longlong(0x1.8p12),
                raw[2] - good * __double_as_longlong(0x1.8p52)};
    }
};

/* What a wave or a block has found. */
struct merged {
    unsigned long long min, max, first_bad; /* keys of the extremes */
    long long bad_cells;
    long long digit[4], heat[4];

    __device__ void add(const merged &other)
    {
        min = other.min < min ? other.min : min;
        max = other.max > max ? other.max : max;
        first_bad = other.first_bad < first_bad ? other.first_bad : first_bad;
        bad_cells += other.bad_cells;
        for (int d = 0; d < 4; d++) {
            digit[d] += other.digit[d];
            heat[d] += other.heat[d];
        }
    }
};

static __device__ __forceinline__ void wave_sums(const struct tally &tally, long long (&sums)[4])
{
    digits_of(tally, sums);
    for (int d = 0; d < 4; d++) {
        sums[d] = arch_wave_sum(sums[d]);
    }
}

/* By one thread. */
static __device__ __forceinline__ void add_merged(struct hip_scratch *scratch, const merged &mine)
{
    atomicMin(&scratch->min_key, mine.min);
    atomicMax(&scratch->max_key, mine.max);
    for (int d = 0; d < 4; d++) {
        atomicAdd(&scratch->digit[d], (unsigned long long)mine.digit[d]);
        if (mine.heat[d] != 0) {
            atomicAdd(&scratch->heat[d], (unsigned long long)mine.heat[d]);
        }
    }
    if (mine.bad_cells > 0) {
        atomicAdd(&scratch->bad_cells, (unsigned long long)mine.bad_cells);
        atomicMin(&scratch->first_bad, mine.first_bad);
    }
}

/* What a wave has found, in its first lane. */
static __device__ __forceinline__ merged merge_wave(const findings &f)
{
    merged mine = {key_of(f.min), key_of(f.max), f.first_bad, 0, {}, {}};
    for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
        const unsigned long long other_min = arch_shift_down(mine.min, lanes);
        const unsigned long long other_max = arch_shift_down(mine.max, lanes);
        const unsigned long long other_bad = arch_shift_down(mine.first_bad, lanes);
        mine.min = other_min < mine.min ? other_min : mine.min;
        mine.max = other_max > mine.max ? other_max : mine.max;
        mine.first_bad = other_bad < mine.first_bad ? other_bad : mine.first_bad;
    }
    mine.bad_cells = arch_wave_sum((long long)f.bad_cells);
    wave_sums(f.tally(), mine.digit);
    wave_sums(f.heat, mine.heat);
    return mine;
}

/* By one thread: add what the waves of a block have found. */
static __device__ __forceinline__ void add_waves(struct hip_scratch *scratch, const merged *waves,
                                                 int count)
{
    merged mine = waves[0];
    for (int wave = 1; wave < count; wave++) {
        mine.add(waves[wave]);
    }
    add_merged(scratch, mine);
}

/* Merge the threads' findings: by shuffles, then in shared memory, since atomics at one address
 * come one after another: one set per wave took longer than reading the field. All threads call;
 * waves: shared memory, one of each wave. */
template <int WAVES>
static __device__ __forceinline__ void merge(struct hip_scratch *scratch, const findings &f,
                                             merged *waves)
{
    const merged mine = merge_wave(f);
    if (arch_is_first_lane()) {
        waves[threadIdx.x / ARCH_WAVE] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        add_waves(scratch, waves, WAVES);
    }
}

static __device__ void reset(struct hip_scratch *scratch)
{
    scratch->min_key = key_of(HUGE_VAL);
    scratch->max_key = key_of(-HUGE_VAL);
    for (int d = 0; d < 4; d++) {
        scratch->digit[d] = 0;
        scratch->heat[d] = 0;
    }
    scratch->bad_cells = 0;
    scratch->first_bad = ~0ULL;
    scratch->hash = 0;
}

/* Reads what the atomics of other blocks have written, bypassing the L1 cache. */
static __device__ unsigned long long seen(unsigned long long *where)
{
    return atomicAdd(where, 0ULL);
}

static __device__ void publish_sum(unsigned long long (&digits)[4], struct exact_sum *sum)
{
    long long carry = 0;
    for (int d = 0; d < 4; d++) {
        const long long digit = (long long)seen(&digits[d]) + carry;
        carry = digit >> 40;
        sum->digit[d] = d < 3 ? digit & ((1LL << 40) - 1) : digit;
    }
}

static __device__ void publish(struct hip_scratch *scratch, struct field_summary *summary)
{
    summary->min = value_of(seen(&scratch->min_key)) + 0.0; /* of -0 and 0 always 0 */
    summary->max = value_of(seen(&scratch->max_key)) + 0.0;
    publish_sum(scratch->digit, &summary->sum);
    publish_sum(scratch->heat, &summary->heat);
    summary->bad_cells = (int64_t)seen(&scratch->bad_cells);
    summary->first_bad = (int64_t)seen(&scratch->first_bad); /* all ones: -1 */
}

/* By one thread, when all blocks have merged. */
static __device__ __forceinline__ void publish_summary(struct hip_scratch *scratch,
                                                       struct hip_result *result)
{
    publish(scratch, &result->summary);
    reset(scratch);
    __threadfence_system();
}

/* The end of a kernel that summarises. All threads of all blocks call; `waves` as above. */
template <int WAVES>
static __device__ __forceinline__ void finish_summary(struct hip_scratch *scratch,
                                                      const findings &f, merged *waves,
                                                      struct hip_result *result)
{
    merge<WAVES>(scratch, f, waves);
    if (is_last_block(scratch)) {
        publish_summary(scratch, result);
    }
}
