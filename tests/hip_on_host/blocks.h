/* Between the executor of threads (blocks.cpp) and the engine that copies tiles (tile_copy.cpp). */
#pragma once

#include <cstdint>
#include <string>

#include "tile_copy.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace hip_on_host
{
/* Random numbers by splitmix64: one is drawn for each switch between threads, so its time counts.
 */
struct draws {
    using result_type = uint64_t;
    uint64_t state;

    static constexpr uint64_t min(void)
    {
        return 0;
    }
    static constexpr uint64_t max(void)
    {
        return UINT64_MAX;
    }
    uint64_t operator()(void)
    {
        uint64_t z = state += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
    uint64_t below(uint32_t n)
    {
        return ((*this)() >> 32) * n >> 32;
    }
};

/* End the program, and say where the threads of the block wait. */
[[noreturn]] void give_up(const char *what);

/* The running thread waits until something happens at that place, or until no thread can run. */
void look_later(const void *at);
/* Something that may end the waiting: of anyone; of those who wait at that place. */
void happened(void);
void happened_at(const void *at);

/* In a random order of threads, with a probability of 1 / n. */
bool one_of(unsigned n);

/* Complete a copy; false: none is in flight. */
bool finish_copy(void);
bool copies_in_flight(void);
std::string describe_arrivals(const void *arrivals);
} /* namespace hip_on_host */
