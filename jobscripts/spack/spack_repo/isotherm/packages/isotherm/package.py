# Isotherm for Spack 1.0 and later; how to use it: docs/guide/install.md.
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Isotherm(CMakePackage, CudaPackage, ROCmPackage):
    """Isotherm solves the heat equation on structured grids in one, two and three dimensions, on
    one core or on many GPUs with MPI."""

    # the repository that this file is in: package and source cannot differ
    git = str(Path(__file__).resolve().parents[6])

    license("MIT")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("pictures", default=True, description="Draw pictures, with Cairo")
    variant("units", default=True, description="Read values with units, with UDUNITS-2")
    variant("tiff", default=True, description="Read labels from TIFF files, with libtiff")
    variant("nifti", default=True, description="Read labels from NIfTI files, with niftiio")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+rocm")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("help2man", type="build")
    depends_on("mpi")
    depends_on("hdf5+mpi")
    depends_on("hwloc")
    depends_on("libyaml")
    depends_on("muparser")
    depends_on("xxhash")
    depends_on("cairo+png+svg+ft+fc", when="+pictures")
    depends_on("udunits", when="+units")
    depends_on("libtiff", when="+tiff")
    depends_on("nifticlib", when="+nifti")

    conflicts("+cuda", when="+rocm", msg="a build has one GPU backend")
    conflicts("cuda_arch=none", when="+cuda", msg="give cuda_arch, such as 90 for an H100")

    generator("ninja")

    def flag_handler(self, name, flags):
        # without its GPU transport library Cray MPICH treats device buffers as host memory
        if name in ("ldflags", "ldlibs") and self.spec["mpi"].satisfies("cray-mpich+rocm"):
            flags.extend(self.spec["mpi"].package.gtl_lib.get(name, []))
        return (flags, None, None)

    def cmake_args(self):
        hip = "amd" if "+rocm" in self.spec else "nvidia" if "+cuda" in self.spec else "off"
        args = [
            self.define("ISOTHERM_HIP", hip),
            # Spack's compiler wrapper adds -march of the target
            self.define("ISOTHERM_CPU_ARCH", ""),
            self.define("ISOTHERM_TESTS", False),
            self.define_from_variant("ISOTHERM_CAIRO", "pictures"),
            self.define_from_variant("ISOTHERM_UDUNITS", "units"),
            self.define_from_variant("ISOTHERM_TIFF", "tiff"),
            self.define_from_variant("ISOTHERM_NIFTI", "nifti"),
        ]
        if hip == "amd":
            args.append(self.define_from_variant("CMAKE_HIP_ARCHITECTURES", "amdgpu_target"))
            args.append(self.define("CMAKE_HIP_COMPILER",
                                    self.spec["llvm-amdgpu"].prefix.bin.join("clang++")))
        if hip == "nvidia":
            args.append(self.define_from_variant("CMAKE_CUDA_ARCHITECTURES", "cuda_arch"))
        return args
