/* Two steps in a pass; a file of its own, since the compiler takes a minute for it. */
#include "kernels/hip/schedule/deep/staged/launch.h"

DEFINE_DEEP(2, 8, false, 4)
DEFINE_DEEP_PAIR(2, 8, false, 4)
