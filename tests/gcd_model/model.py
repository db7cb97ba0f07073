"""The model of one GCD of an MI250X: inputs of gcd_sim, and its runs."""
import subprocess

LINE = 128
# GB/s, fitted, and misses in flight: docs/developers/gcd_model.md
CHIP = {"memory": 1113, "misses": 256}
SIMDS = 4


def text_of(blocks, strides, waves, programs, bases, edge=1 << 40, others=()):
    """blocks: in the order of dispatch; strides[memory]: bytes to the next block in each of its
    directions; waves[n][memory]: bytes from the block to its wave n; programs: operations (see
    gcd_sim.c) of the waves of a block, the last one of all others; others: those of the last blocks
    in y, and of others at edges."""
    lines = ["blocks %d %d %d" % tuple(blocks), f"edge {edge}"]
    lines += ["memory %d %d %d %d" % (base, *stride) for base, stride in zip(bases, strides)]
    lines += ["wave " + " ".join(map(str, offsets)) for offsets in waves]
    for n, same in enumerate([programs, *others]):
        lines += ["others"] if n > 0 else []
        for program in same:
            for operation in program:
                kind, *numbers = operation
                if kind in "LS":
                    memory, hint, pieces = numbers
                    numbers = [memory, hint, len(pieces), *(n for piece in pieces for n in piece)]
                lines.append(" ".join([kind, *map(str, numbers)]))
            lines.append("E")
    return "\n".join(lines) + "\n"


def simulate(program, text, **numbers):
    """fetch and write (lines), ns, blocks."""
    settings = [f"{key}={value}" for key, value in {**CHIP, **numbers}.items()]
    words = subprocess.run([program, *settings], input=text, stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    return {name: float(number) for name, number in zip(words[::2], words[1::2])}


def waves_of_simd(vgprs, lds, waves_per_block):
    """(blocks of a compute unit, waves per SIMD): registers in eights of 512, 64 KiB of LDS."""
    by_registers = min(8, 512 // (-(-max(vgprs, 1) // 8) * 8)) * SIMDS // waves_per_block
    blocks = min(by_registers, 65536 // lds if lds else by_registers)
    return blocks, blocks * waves_per_block / SIMDS
