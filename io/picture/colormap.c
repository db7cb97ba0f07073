#include "io/picture/colormap.h"

#include <math.h>

enum { INTERVALS = 16 };

/* Evenly spaced colours; interpolation is within 5/255 of the published tables. Inferno, magma
 * (S. van der Walt, N. Smith) and viridis (also E. Firing), CC0: perceptually uniform, with
 * increasing lightness. Coolwarm: K. Moreland, "Diverging Color Maps for Scientific Visualization",
 * 2009. */
static const uint32_t maps[][INTERVALS + 1] = {
    [COLORMAP_INFERNO] = {0x000004, 0x090723, 0x210d4b, 0x3d0867, 0x570f6e, 0x70196e, 0x89226a,
                          0xa32b62, 0xbb3655, 0xd14545, 0xe45932, 0xf1711f, 0xfa8d07, 0xfcab0c,
                          0xfaca31, 0xefe964, 0xfcffa4},
    [COLORMAP_MAGMA] = {0x000004, 0x090821, 0x1c1246, 0x350f6c, 0x51117d, 0x691c81, 0x822682,
                        0x9c2e80, 0xb6367a, 0xd04070, 0xe75063, 0xf5695b, 0xfc8760, 0xfea570,
                        0xfec387, 0xfde0a1, 0xfcfdbf},
    [COLORMAP_VIRIDIS] = {0x440154, 0x48186b, 0x472d7c, 0x424086, 0x3b528b, 0x33638e, 0x2c728e,
                          0x26818e, 0x20908d, 0x1e9f89, 0x26ae81, 0x3dbc74, 0x5cc963, 0x81d44d,
                          0xabdc32, 0xd5e216, 0xfde725},
    [COLORMAP_COOLWARM] = {0x3b4cc0, 0x4d68d8, 0x6282ea, 0x779af7, 0x8db0fe, 0xa3c2ff, 0xb8d0f9,
                           0xccd9ee, 0xdddddd, 0xecd3c6, 0xf5c5ad, 0xf8b194, 0xf59a7b, 0xec7f63,
                           0xde604c, 0xcb4138, 0xb40426},
};

uint32_t colormap_of(enum colormap map, double value, double low, double high)
{
    if (!isfinite(value)) {
        return COLORMAP_GREY;
    }
    const double place = fmin(fmax((value - low) / (high - low), 0.0), 1.0) * INTERVALS;
    const int below = (int)fmin(place, INTERVALS - 1);
    uint32_t color = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const int a = maps[map][below] >> shift & 0xFF;
        const int b = maps[map][below + 1] >> shift & 0xFF;
        color = color << 8 | (uint32_t)(a + (b - a) * (place - below) + 0.5);
    }
    return color;
}
