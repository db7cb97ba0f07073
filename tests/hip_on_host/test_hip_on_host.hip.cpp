/* What hip_on_host finds: that its waves and barriers work, and that wrong kernels do not pass. */
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {
#include <cmocka.h>
}
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/hip/device/arch.h"

enum { THREADS = 130 }; /* whole waves and two lanes */

/* The sum of the threads' numbers in each wave, negative in that of thread 127. */
static __global__ void sum_waves(long long *sums)
{
    const long long sum = arch_wave_sum((long long)threadIdx.x);
    const bool any = arch_any(threadIdx.x == 127);
    if (arch_is_first_lane()) {
        sums[threadIdx.x / ARCH_WAVE] = any ? -sum : sum;
    }
}

/* out[t] = in[t + 1] through shared memory, `barriers` or not. */
static __global__ void shift(int *out, bool barriers)
{
    __shared__ int cells[THREADS + 1];
    extern __shared__ __attribute__((aligned(16))) char unset[];
    cells[threadIdx.x] = (int)threadIdx.x;
    if (barriers) {
        __syncthreads();
    }
    out[threadIdx.x] = threadIdx.x + 1 < THREADS ? cells[threadIdx.x + 1] : unset[0];
}

static __global__ void part_of_a_block_waits(int *out)
{
    if (threadIdx.x < 100) {
        __syncthreads();
    } else {
        out[0] += arch_any(threadIdx.x > 100);
    }
}

static __global__ void lanes_at_different_barriers(int *out)
{
    if (threadIdx.x % 2 == 0) {
        __syncthreads();
        out[0]++;
    } else {
        __syncthreads();
    }
}

static void waves_have_all_lanes(void **)
{
    long long sums[128 / ARCH_WAVE] = {};
    sum_waves<<<1, 128, 0, nullptr>>>(sums);
    for (int wave = 0; wave < 128 / ARCH_WAVE; wave++) {
        const int first = wave * ARCH_WAVE;
        const int sum = ARCH_WAVE * first + ARCH_WAVE * (ARCH_WAVE - 1) / 2;
        assert_int_equal(sums[wave], first + ARCH_WAVE == 128 ? -sum : sum);
    }
    assert_int_equal(hipGetLastError(), hipSuccess);
}

static int wrong_cells(bool barriers)
{
    int out[THREADS];
    int wrong = 0;
    for (int block = 0; block < 2; block++) { /* the second could read what the first has left */
        shift<<<1, THREADS, 4, nullptr>>>(out, barriers);
        wrong = 0;
        for (int t = 0; t < THREADS; t++) {
            wrong += out[t] != (t + 1 < THREADS ? t + 1 : -1);
        }
    }
    return wrong;
}

static void a_missing_barrier_shows(void **)
{
    assert_int_equal(wrong_cells(true), 0);
    assert_true(wrong_cells(false) > 0);
}

template <typename LAUNCH> static void assert_aborts(LAUNCH launch)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        alarm(60); /* it must not hang */
        launch();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void a_wrong_barrier_ends_the_program(void **)
{
    int out = 0;
    assert_aborts([&] { part_of_a_block_waits<<<1, THREADS, 0, nullptr>>>(&out); });
    assert_aborts([&] { lanes_at_different_barriers<<<1, THREADS, 0, nullptr>>>(&out); });
}

static void impossible_launches_are_refused(void **)
{
    int out[THREADS];
    shift<<<1, 1025, 4, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    shift<<<0, THREADS, 4, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    shift<<<1, THREADS, hip_on_host::MOST_SHARED_BYTES + 1, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    assert_int_equal(hipGetLastError(), hipSuccess);
}

#if ARCH_HAS_TILE_COPY

enum { TILE_X = 8, TILE_Y = 4, TILE = TILE_X * TILE_Y, REGION_X = 20, REGION_Y = 6, PITCH = 24 };
enum { TILE_BYTES = TILE * (int)sizeof(float) };
enum fault {
    NO_FAULT,
    NO_WAIT, /* the only one that does not end the program */
    NOT_INITIALISED,
    TOO_FEW_BYTES,
    TOO_MANY_BYTES,
    TOO_MANY_THREADS,
    WRONG_PARITY,
    TWO_COPIES_TO_A_TILE,
    BLOCK_ENDS_BEFORE_COPY,
    NOT_ALIGNED_IN_ROW,
    NOT_ALIGNED_IN_MEMORY,
    BEYOND_MEMORY,
    ADDRESS_BEYOND_MEMORY,
    FAULTS
};

/* Copies a tile to `out`, from indices that begin outside the region. */
static __global__ void copy_tile(float *out, const __grid_constant__ arch_tile_map map, fault has)
{
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled;
    float *tile = reinterpret_cast<float *>(shared) + (has == NOT_ALIGNED_IN_MEMORY ? 4 : 0) +
                  (has == BEYOND_MEMORY ? 2 * TILE : 0);
    if (threadIdx.x == 0) {
        if (has != NOT_INITIALISED) {
            arch_arrivals_init(&filled, 1);
            arch_arrivals_publish();
        }
        arch_arrive_with_bytes(&filled, TILE_BYTES - (has == TOO_FEW_BYTES ? 16 : 0) +
                                            (has == TOO_MANY_BYTES ? 16 : 0));
        if (has == TOO_MANY_THREADS) {
            arch_arrive(&filled);
        }
        arch_tile_copy(tile, map, &filled, has == NOT_ALIGNED_IN_ROW ? -3 : -4, 3, 1);
        if (has == TWO_COPIES_TO_A_TILE) {
            arch_tile_copy(tile, map, &filled, -4, 3, 1);
        }
        if (has == ADDRESS_BEYOND_MEMORY) {
            hip_on_host::shared_at(arch_shared_address(tile) + TILE_BYTES + 128, 16);
        }
    }
    if (has == NO_WAIT) {
        out[threadIdx.x] = tile[threadIdx.x];
    }
    if (has == BLOCK_ENDS_BEFORE_COPY) {
        return;
    }
    __syncthreads();
    if (has == WRONG_PARITY) {
        arch_arrivals_wait(&filled, 1);
        arch_arrivals_wait(&filled, 0);
        arch_arrivals_wait(&filled, 1);
    } else {
        arch_arrivals_wait(&filled, 0);
    }
    if (has != NO_WAIT) {
        out[threadIdx.x] = tile[threadIdx.x];
    }
}

static int wrong_in_tile(fault has)
{
    float cells[3 * REGION_Y * PITCH];
    float out[TILE] = {};
    for (int c = 0; c < 3 * REGION_Y * PITCH; c++) {
        cells[c] = (float)(c + 1);
    }
    arch_tile_map map;
    const arch_region<float> region = {cells, {REGION_X, REGION_Y, 3}, PITCH, REGION_Y * PITCH};
    assert_int_equal(arch_tile_map_make(&map, region, TILE_X, TILE_Y), hipSuccess);
    copy_tile<<<1, TILE, TILE_BYTES + 128, nullptr>>>(out, map, has);
    assert_int_equal(hipGetLastError(), hipSuccess);
    int wrong = 0;
    for (int t = 0; t < TILE; t++) {
        const int x = t % TILE_X - 4, y = t / TILE_X + 3;
        wrong += !(out[t] == (x >= 0 && y < REGION_Y ? cells[(REGION_Y + y) * PITCH + x] : 0));
    }
    return wrong;
}

static void tiles_have_zeros_outside(void **)
{
    assert_int_equal(wrong_in_tile(NO_FAULT), 0);
}

static void a_missing_wait_shows(void **)
{
    assert_true(wrong_in_tile(NO_WAIT) > 0);
}

static void a_wrong_copy_ends_the_program(void **)
{
    for (int has = NO_WAIT + 1; has < FAULTS; has++) {
        assert_aborts([has] { wrong_in_tile((fault)has); });
    }
}

static void impossible_tiles_are_refused(void **)
{
    arch_tile_map map;
    alignas(16) static float cells[64];
    const arch_region<float> region = {cells, {8, 4, 2}, 8, 32};
    arch_region<float> other = region;
    assert_int_equal(arch_tile_map_make(&map, region, 8, 4), hipSuccess);
    assert_int_equal(arch_tile_map_make(&map, region, 260, 4), hipErrorInvalidValue);
    assert_int_equal(arch_tile_map_make(&map, region, 6, 4), hipErrorInvalidValue);
    other.first++;
    assert_int_equal(arch_tile_map_make(&map, other, 8, 4), hipErrorInvalidValue);
    other = region;
    other.pitch_y = 6;
    assert_int_equal(arch_tile_map_make(&map, other, 8, 4), hipErrorInvalidValue);
}

/* out[t] = in[t + 1] in the next round, through three planes of shared memory. */
static __global__ void meet_in_parts(int *out, int rounds)
{
    __shared__ int cells[3][128];
    __shared__ arch_meeting meeting;
    if (threadIdx.x == 0) {
        arch_meeting_init(&meeting, 128);
        arch_arrivals_publish();
    }
    __syncthreads();
    int mine = (int)threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        cells[round % 3][threadIdx.x] = mine;
        arch_meeting_arrive(&meeting);
        arch_meeting_wait(&meeting, (unsigned)round);
        mine = cells[round % 3][(threadIdx.x + 1) % 128];
    }
    out[threadIdx.x] = mine;
}

static void blocks_meet_in_parts(void **)
{
    int out[128];
    meet_in_parts<<<1, 128, 0, nullptr>>>(out, 10);
    for (int t = 0; t < 128; t++) {
        assert_int_equal(out[t], (t + 10) % 128);
    }
}

#endif

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_have_all_lanes),
        cmocka_unit_test(a_missing_barrier_shows),
        cmocka_unit_test(a_wrong_barrier_ends_the_program),
        cmocka_unit_test(impossible_launches_are_refused),
#if ARCH_HAS_TILE_COPY
        cmocka_unit_test(tiles_have_zeros_outside),
        cmocka_unit_test(a_missing_wait_shows),
        cmocka_unit_test(a_wrong_copy_ends_the_program),
        cmocka_unit_test(impossible_tiles_are_refused),
        cmocka_unit_test(blocks_meet_in_parts),
#endif
    };
    return cmocka_run_group_tests_name("HIP on the host", tests, nullptr, nullptr);
}
