/* What the step kernels share on the device: coefficients in the field's precision, closed faces,
 * the update of a cell, and exact sums over the cells of closed faces. */
#pragma once

/* first: it defines __device__ and KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/cell/heat_cell.h"
#include "kernels/hip/host/launch.h"

/* The sums over closed faces before one step. */
struct face_sums {
    bool sums;                         /* any of these: */
    struct exact_sum *sum[FACE_COUNT]; /* not NULL: closed, and its inside cells are summed */
    struct hip_scratch *scratch;
};

/* A field by its cell (0, 0, 0). */
template <typename REAL> struct grid_view {
    REAL *out;
    const REAL *in;
    int64_t pitch_y, pitch_z;
    int64_t cells[AXIS_COUNT];
    uint32_t *d_bits; /* of step_args, with BITS */

    __device__ int64_t at(int64_t i, int64_t j, int64_t k) const
    {
        return i + j * pitch_y + k * pitch_z;
    }
};

/* The sum modulo 2^32 of the words of a cell: see add_bits_args. */
static __device__ __forceinline__ uint32_t bits_in(double cell)
{
    const uint64_t bits = (uint64_t)__double_as_longlong(cell);
    return (uint32_t)bits + (uint32_t)(bits >> 32);
}

static __device__ __forceinline__ uint32_t bits_in(float cell)
{
    return (uint32_t)__float_as_int(cell);
}

/* Add what the lanes of a wave have found. All of them call. */
static __device__ __forceinline__ void add_bits_of_wave(uint32_t *d_bits, uint32_t mine)
{
    const uint32_t all = (uint32_t)arch_wave_sum((long long)mine);
    if (arch_is_first_lane()) {
        atomicAdd(d_bits, all);
    }
}

/* The shape of a kernel that takes the sum of d_bits of step_args on its way. */
template <typename S> struct with_bits : S {
    static constexpr bool BITS = true;
};

static inline face_sums face_sums_of(const struct coefficients *args, struct hip_scratch *d_scratch)
{
    face_sums sums = {};
    for (int face = 0; face < FACE_COUNT; face++) {
        sums.sum[face] = args->closed[face] ? args->d_face_sum[face] : nullptr;
        sums.sums = sums.sums || sums.sum[face] != nullptr;
    }
    sums.scratch = d_scratch;
    return sums;
}

template <typename REAL>
static grid_view<REAL> view_of(const struct layout *layout, void *d_out, const void *d_in)
{
    grid_view<REAL> view = {};
    view.out = static_cast<REAL *>(d_out) + layout->origin;
    view.in = static_cast<const REAL *>(d_in) + layout->origin;
    view.pitch_y = layout->pitch_y;
    view.pitch_z = layout->pitch_z;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        view.cells[axis] = layout->cells[axis];
    }
    return view;
}

/* The neighbours of a cell of the field; `closed` faces that it lies on: set `on`, and the cell
 * itself stands for its neighbour. */
template <typename REAL>
static __device__ __forceinline__ void read_around(const grid_view<REAL> &view,
                                                   const bool (&closed)[FACE_COUNT],
                                                   const int64_t (&cell)[AXIS_COUNT],
                                                   bool (&on)[FACE_COUNT], REAL (&n)[FACE_COUNT])
{
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const REAL *const c = view.in + view.at(cell[0], cell[1], cell[2]);
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const bool min = face % 2 == 0;
        on[face] = closed[face] && cell[axis] == (min ? 0 : view.cells[axis] - 1);
        n[face] = c[on[face] ? 0 : min ? -stride[axis] : stride[axis]];
    }
}

template <typename REAL>
static __device__ __forceinline__ REAL heat_cell(REAL base, REAL c, REAL xm, REAL xp, REAL ym,
                                                 REAL yp, REAL zm, REAL zp,
                                                 const REAL (&r)[AXIS_COUNT])
{
    if constexpr (sizeof(REAL) == sizeof(double)) {
        return heat_cell_float64(base, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2]);
    } else {
        return heat_cell_float32(base, c, xm, xp, ym, yp, zm, zp, r[0], r[1], r[2]);
    }
}

/* The value beyond a boundary face: as heat_outside_float64. */
template <typename REAL> static __device__ __forceinline__ REAL outside(REAL inside, REAL a, REAL b)
{
    return arch_fma(a, inside, b);
}

template <typename REAL> static __device__ __forceinline__ vec16<REAL> vector_at(const REAL *cells)
{
    return *reinterpret_cast<const vec16<REAL> *>(cells);
}

/* One thread's counters of an exact sum; see exact_parts in base/exact_sum.h. At most
 * EXACT_PARTS_MAX_TERMS cells. */
struct tally {
    long long part[3];

    __device__ void add(double x)
    {
        const double magic0 = 0x1.8p52;
        const double magic1 = 0x1.8p12;
        const double magic2 = 0x1.8p-28;
        const double good =
            fabs(x) < EXACT_SUM_LIMIT ? x : 0.0; /* summarise reports invalid cells */
        const double s0 = good + magic0;
        const double r0 = good - (s0 - magic0);
        const double s1 = r0 + magic1;
        const double r1 = r0 - (s1 - magic1);
        const double s2 = r1 + magic2;
        part[2] += __double_as_longlong(s0) - __double_as_longlong(magic0);
        part[1] += __double_as_longlong(s1) - __double_as_longlong(magic1);
        part[0] += __double_as_longlong(s2) - __double_as_longlong(magic2);
    }
};

/* The digits of a tally, not normalised. */
static __device__ __forceinline__ void digits_of(const struct tally &tally, long long (&digit)[4])
{
    const long long mask = (1LL << 40) - 1;
    const long long p1 = tally.part[1] + (tally.part[0] >> 40);
    const long long p2 = tally.part[2] + (p1 >> 40);
    digit[0] = tally.part[0] & mask;
    digit[1] = p1 & mask;
    digit[2] = p2 & mask;
    digit[3] = p2 >> 40;
}

/* Add a wave's tallies to four digits in memory, and to `others` if not NULL, without normalising
 * them. Integers: the order does not matter. All lanes call. */
static __device__ __forceinline__ void digits_add(unsigned long long *digits,
                                                  const struct tally &tally,
                                                  unsigned long long *others = nullptr)
{
    long long digit[4];
    digits_of(tally, digit);
    for (int d = 0; d < 4; d++) {
        const long long sum = arch_wave_sum(digit[d]);
        if (arch_is_first_lane() && sum != 0) {
            atomicAdd(&digits[d], (unsigned long long)sum);
            if (others != nullptr) {
                atomicAdd(&others[d], (unsigned long long)sum);
            }
        }
    }
}

/* The same for a face sum; waves without a cell of the face return early. */
static __device__ __forceinline__ void face_sum_add(struct exact_sum *sum,
                                                    const struct tally &tally)
{
    if (sum != nullptr && arch_any((tally.part[0] | tally.part[1] | tally.part[2]) != 0)) {
        digits_add(reinterpret_cast<unsigned long long *>(sum->digit), tally);
    }
}

/* True in one thread of the last block to call, which then sees what all blocks have added. Resets
 * the counter for the next kernel. All threads of all blocks call. */
static __device__ __forceinline__ bool is_last_block(struct hip_scratch *scratch)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0) {
        return false;
    }
    const unsigned int nblocks = gridDim.x;
    const bool last = atomicInc(&scratch->blocks_done, nblocks - 1) == nblocks - 1;
    __threadfence();
    return last;
}

/* The same, known to all threads of that block. flag: in shared memory. */
static __device__ __forceinline__ bool is_last_block_of_all(struct hip_scratch *scratch, bool *flag)
{
    const bool last = is_last_block(scratch);
    if (threadIdx.x == 0) {
        *flag = last;
    }
    __syncthreads();
    return *flag;
}

/* Carry, to normalise the sum. With atomics, since a step on the other queue may be adding; it then
 * carries again, and the value is correct at any time. All digits are read first: each read takes
 * most of a microsecond, in which a device does nothing else. */
static __device__ __forceinline__ void face_sum_normalise(struct exact_sum *sum)
{
    unsigned long long *digits = reinterpret_cast<unsigned long long *>(sum->digit);
    long long digit[3], carry = 0;
    for (int d = 0; d < 3; d++) {
        digit[d] = (long long)atomicAdd(&digits[d], 0ULL);
    }
    for (int d = 0; d < 3; d++) {
        const long long next = (digit[d] + carry) >> 40;
        const unsigned long long change =
            (unsigned long long)carry - ((unsigned long long)next << 40);
        if (change != 0) {
            atomicAdd(&digits[d], change);
        }
        carry = next;
    }
    if (carry != 0) {
        atomicAdd(&digits[3], (unsigned long long)carry);
    }
}

/* Parameters of the kernel: no index that differs between lanes. */
static __device__ __forceinline__ struct exact_sum *face_sum_of(const face_sums &sums, int face)
{
    struct exact_sum *sum = nullptr;
#pragma unroll
    for (int f = 0; f < FACE_COUNT; f++) {
        sum = face == f ? sums.sum[f] : sum;
    }
    return sum;
}

/* Thread `first` + face normalises the sum of that face. All threads of the last block call. */
static __device__ __forceinline__ void normalise_face_sums(const face_sums &sums, int first = 0)
{
    struct exact_sum *const mine = face_sum_of(sums, (int)threadIdx.x - first);
    if (mine != nullptr) {
        face_sum_normalise(mine);
    }
}

/* The end of a step kernel. All threads of all blocks call. */
static __device__ __forceinline__ void finish_face_sums(const face_sums &sums)
{
    __shared__ bool is_last;
    if (sums.sums && is_last_block_of_all(sums.scratch, &is_last)) {
        normalise_face_sums(sums);
    }
}
