/* Four steps in a pass; a file of its own, since the compiler takes a minute for it. */
#include "kernels/hip/schedule/deep/staged/launch.h"

DEFINE_DEEP(4, 6, true, 3)
