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

#include "kernels/hip/arch.h"

enum { THREADS = 130 }; /* two waves and two lanes */

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

static void waves_have_64_lanes(void **)
{
    long long sums[2] = {};
    sum_waves<<<1, 128, 0, nullptr>>>(sums);
    assert_int_equal(sums[0], 63 * 64 / 2);
    assert_int_equal(sums[1], 63 * 64 / 2 - 127 * 128 / 2);
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

static void a_wrong_barrier_ends_the_program(void **)
{
    for (int kernel = 0; kernel < 2; kernel++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int out = 0;
            signal(SIGABRT, SIG_DFL);
            alarm(60); /* it must not hang */
            if (kernel == 0) {
                part_of_a_block_waits<<<1, THREADS, 0, nullptr>>>(&out);
            } else {
                lanes_at_different_barriers<<<1, THREADS, 0, nullptr>>>(&out);
            }
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

static void impossible_launches_are_refused(void **)
{
    int out[THREADS];
    shift<<<1, 1025, 4, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    shift<<<0, THREADS, 4, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    shift<<<1, THREADS, (64 << 10) + 1, nullptr>>>(out, true);
    assert_int_equal(hipGetLastError(), hipErrorInvalidConfiguration);
    assert_int_equal(hipGetLastError(), hipSuccess);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_have_64_lanes),
        cmocka_unit_test(a_missing_barrier_shows),
        cmocka_unit_test(a_wrong_barrier_ends_the_program),
        cmocka_unit_test(impossible_launches_are_refused),
    };
    return cmocka_run_group_tests_name("HIP on the host", tests, nullptr, nullptr);
}
