/* Four steps in a pass, of which one corrects: see steps_4.hip.cpp. */
#include "kernels/hip/schedule/deep/staged/launch.h"

DEFINE_DEEP_PAIR(4, 6, true, 3)
