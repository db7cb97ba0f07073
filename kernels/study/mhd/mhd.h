/* The study `mhd`: the last substep of a step of compressible, non-ideal magnetohydrodynamics, 8
 * fields, fused into one kernel (kernels/study/mhd/mhd_point.h). The input has the fields with a
 * halo, the output, before the call, the fields before the previous substep.
 * docs/developers/studies_mhd.md. */
#pragma once

#include "kernels/study/mhd/mhd_point.h"
#include "kernels/study/study.h"

/* study_problem.parameter */
enum mhd_parameter {
    MHD_SPACING_X,
    MHD_SPACING_Y,
    MHD_SPACING_Z,
    MHD_TIME_STEP,
    MHD_VISCOSITY,      /* nu, kinematic */
    MHD_BULK_VISCOSITY, /* zeta */
    MHD_DIFFUSIVITY,    /* eta, magnetic */
    MHD_PERMEABILITY,   /* mu0 */
    MHD_HEAT_CAPACITY,  /* c_p */
    MHD_ADIABATIC_INDEX,
    MHD_SOUND_SPEED, /* at ln rho = ln rho0 and s = 0 */
    MHD_LNRHO0,
    MHD_CONDUCTIVITY, /* K */
    MHD_HEATING,      /* H - C, per volume */
    MHD_PARAMETERS
};

#ifdef __cplusplus
extern "C" {
#endif
void mhd_make_weights_float64(const struct study_problem *problem,
                              struct mhd_weights_float64 *weights);
void mhd_make_weights_float32(const struct study_problem *problem,
                              struct mhd_weights_float32 *weights);
#ifdef __cplusplus
}
#endif
