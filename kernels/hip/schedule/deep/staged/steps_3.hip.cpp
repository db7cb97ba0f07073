/* Three steps in a pass; a file of its own, since the compiler takes a minute for it. */
#include "kernels/hip/schedule/deep/staged/launch.h"

DEFINE_DEEP(3, 7, true, 4)
DEFINE_DEEP_PAIR(3, 7, true, 4)
