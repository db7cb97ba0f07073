/* Will it fit? Asked before anything large is allocated, so that the answer has all the numbers. */
#ifndef ISOTHERM_APP_MEMORY_CHECK_H
#define ISOTHERM_APP_MEMORY_CHECK_H

#include "app/run.h"

/* Collective. STATUS_MEMORY, agreed, when the ranks that share a device need more than is free on
 * it: with both numbers, the device, and what would help. Needs run->decomp and
 * run->device_info; nothing may have been allocated since that was asked for. */
enum status memory_check(const struct run *run) MUST_CHECK;

#endif
