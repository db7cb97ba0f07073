/* Between the executor of threads (blocks.cpp) and the engine that copies tiles (tile_copy.cpp). */
#pragma once

#include <string>

#include "tile_copy.h"

namespace hip_on_host
{
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
