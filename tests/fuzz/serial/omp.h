/* One thread: the fuzzers are built by a clang whose OpenMP library need not be there. */
#pragma once

static inline int omp_get_max_threads(void)
{
    return 1;
}

static inline int omp_get_num_threads(void)
{
    return 1;
}

static inline int omp_get_thread_num(void)
{
    return 0;
}

static inline int omp_is_initial_device(void)
{
    return 1;
}

static inline int omp_get_initial_device(void)
{
    return 0;
}

static inline int omp_get_default_device(void)
{
    return 0;
}

static inline void omp_set_num_threads(int threads)
{
    (void)threads;
}
