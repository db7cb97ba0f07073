/* Includes PRECISION_TEMPLATE, a header that may be included again, for both precisions, with
 *   REAL           the element type
 *   FMA            fma of that type
 *   NAMED(name)    name with the precision appended */
#define REAL double
#define FMA fma
#define NAMED(name) name##_float64
#include PRECISION_TEMPLATE
#undef REAL
#undef FMA
#undef NAMED

#define REAL float
#define FMA fmaf
#define NAMED(name) name##_float32
#include PRECISION_TEMPLATE
#undef REAL
#undef FMA
#undef NAMED
#undef PRECISION_TEMPLATE
