"""The program of a wave, read from the code object for gfx90a. An interpreter of its instructions
follows one wave of a kernel and notes, in order, the memory that each instruction touches, the
waits, the barriers, and the cycles of the instructions between them. Loaded fields are zero: the
way through a kernel must not depend on them. See docs/developers/gcd_model.md."""
import operator
import re
import struct
import subprocess

LANES = 64
CYCLES, SLOW_CYCLES = 4, 16  # of a vector instruction; of a 32-bit product or a reciprocal
SCALAR_LATENCY, SHARED_LATENCY = 340, 64  # cycles
SLOW = re.compile(r"v_(mul_lo|mul_hi|mad_[ui]64|rcp|div_scale|div_fmas|div_fixup|cvt_)")
GAP = 64
EXEC, VCC = 126, 106
ALL = (1 << LANES) - 1


class Unknown(Exception):
    """An instruction that the interpreter does not have."""


def disassemble(objdump, code):
    """[(address, mnemonic, operands)] of each function."""
    listing = subprocess.run([objdump, "-d", str(code)], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    found, function = {}, []
    for symbol, text, address in re.findall(
            r"^[0-9a-f]+ <(\S+)>:$|^\t(\S.*?)\s*// ([0-9A-F]{12}):", listing, re.M):
        if symbol:
            function = found.setdefault(symbol, [])
            continue
        mnemonic, _, rest = text.partition(" ")
        mnemonic = re.sub(r"_(e32|e64|sdwa)$", "", mnemonic)
        function.append((int(address, 16), mnemonic, rest.strip()))
    return found


def descriptor(code, symbol):
    """The first scalar registers as the kernel's descriptor asks for them: (kernarg, workgroup)."""
    data = open(code, "rb").read()
    sections, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + size * n) for n in range(count)]
    for kind, strings in ((h[1], h[6]) for h in headers):
        if kind != 11:  # SHT_DYNSYM
            continue
        table = next(h for h in headers if h[1] == 11)
        names = headers[strings][4]
        for at in range(table[4], table[4] + table[5], 24):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            end = data.index(b"\0", names + name)
            if data[names + name:end].decode() == symbol + ".kd":
                home = next(h for h in headers if h[3] <= value < h[3] + h[5] and h[1] == 1)
                start = home[4] + value - home[3]
                rsrc2, = struct.unpack_from("<I", data, start + 52)
                wanted, = struct.unpack_from("<H", data, start + 56)
                before = sum(n for bit, n in ((0, 4), (1, 2), (2, 2)) if wanted >> bit & 1)
                after = sum(n for bit, n in ((3, 2), (4, 2), (5, 2), (6, 1)) if wanted >> bit & 1)
                return before, before + after, [rsrc2 >> bit & 1 for bit in (7, 8, 9)]
    raise Unknown(f"no descriptor of {symbol}")


def lanes_of(mask):
    return [mask >> n & 1 for n in range(LANES)]


def mask_of(lanes):
    return sum(1 << n for n, on in enumerate(lanes) if on)


def signed(value, width):
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def float_of(word):
    return struct.unpack("<f", struct.pack("<I", word & WORD))[0]


def word_of(value):
    return struct.unpack("<I", struct.pack("<f", max(min(value, 3e38), -3e38)))[0]


WORD = (1 << 32) - 1
COMPARE = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
           "eq": operator.eq, "ne": operator.ne, "lg": operator.ne}
# name: (kinds of the operands, function of one lane); d: the destination's old value
VECTOR = {
    "v_mov_b32": ("u32", lambda a: a), "v_not_b32": ("u32", lambda a: ~a),
    "v_add_u32": ("u32 u32", operator.add), "v_sub_u32": ("u32 u32", operator.sub),
    "v_subrev_u32": ("u32 u32", lambda a, b: b - a), "v_and_b32": ("u32 u32", operator.and_),
    "v_or_b32": ("u32 u32", operator.or_), "v_xor_b32": ("u32 u32", operator.xor),
    "v_lshlrev_b32": ("u32 u32", lambda a, b: b << (a & 31)),
    "v_lshrrev_b32": ("u32 u32", lambda a, b: b >> (a & 31)),
    "v_lshrrev_b16": ("u32 u32", lambda a, b: (b & 0xffff) >> (a & 15)),
    "v_add_u16": ("u32 u32", lambda a, b: a + b & 0xffff),
    "v_sub_u16": ("u32 u32", lambda a, b: a - b & 0xffff),
    "v_bfe_i32": ("u32 u32 u32", lambda a, b, c: signed(a >> (b & 31), c & 31)),
    "v_mul_lo_u16": ("u32 u32", lambda a, b: a * b & 0xffff),
    "v_ashrrev_i32": ("u32 i32", lambda a, b: b >> (a & 31)),
    "v_mul_lo_u32": ("u32 u32", operator.mul), "v_mul_u32_u24": ("u32 u32", operator.mul),
    "v_mul_i32_i24": ("i32 i32", operator.mul),
    "v_mul_hi_u32": ("u32 u32", lambda a, b: a * b >> 32),
    "v_mad_i32_i24": ("i32 i32 i32", lambda a, b, c: a * b + c),
    "v_mad_u32_u24": ("u32 u32 u32", lambda a, b, c: a * b + c),
    "v_lshl_add_u32": ("u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": ("u32 u32 u32", lambda a, b, c: (a + b) << (c & 31)),
    "v_add3_u32": ("u32 u32 u32", lambda a, b, c: a + b + c),
    "v_xad_u32": ("u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_or3_b32": ("u32 u32 u32", lambda a, b, c: a | b | c),
    "v_and_or_b32": ("u32 u32 u32", lambda a, b, c: a & b | c),
    "v_lshl_or_b32": ("u32 u32 u32", lambda a, b, c: a << (b & 31) | c),
    "v_bfe_u32": ("u32 u32 u32", lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1)),
    "v_lshlrev_b64": ("u32 u64", lambda a, b: b << (a & 63)),
    "v_lshrrev_b64": ("u32 u64", lambda a, b: b >> (a & 63)),
    "v_ashrrev_i64": ("u32 i64", lambda a, b: b >> (a & 63)),
    "v_max_u32": ("u32 u32", max), "v_min_u32": ("u32 u32", min),
    "v_max_i32": ("i32 i32", max), "v_min_i32": ("i32 i32", min),
    "v_mbcnt_lo_u32_b32": ("u32 u32", lambda a, b: b),
    "v_mbcnt_hi_u32_b32": ("u32 u32", lambda a, b: b),
    # of divisions of integers
    "v_mul_f32": ("u32 u32", lambda a, b: word_of(float_of(a) * float_of(b))),
    "v_mac_f32": ("u32 u32 d", lambda a, b, d: word_of(float_of(a) * float_of(b) + float_of(d))),
    "v_trunc_f32": ("u32", lambda a: word_of(float(int(float_of(a))))),
    "v_rcp_f32": ("u32", lambda a: word_of(1 / (float_of(a) or 1e-38))),
    "v_cvt_u32_f32": ("u32", lambda a: max(int(float_of(a)), 0)),
    "v_cvt_f32_u32": ("u32", lambda a: word_of(float(a)))}
VECTOR["v_rcp_iflag_f32"] = VECTOR["v_rcp_f32"]
# Arithmetic of the field, whose values are not followed.
DATA = re.compile(r"v_(pk_)?(add|sub|subrev|mul|fma|fmac|mac|div_\w+|rcp|cvt)(_f32|_f64)")
SCALAR = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
          "or": operator.or_, "xor": operator.xor, "andn2": lambda a, b: a & ~b,
          "orn2": lambda a, b: a | ~b, "max": max, "min": min}


class Wave:
    """One wave of a kernel. memory: [(first address, bytes or length, name, its bytes)]."""

    def __init__(self, program, start, kernarg, block, thread, memory):
        self.program = program
        self.index = {address: n for n, (address, _, _) in enumerate(program)}
        self.s = [0] * 128
        self.v = [[0] * LANES for _ in range(512)]
        self.memory = memory
        self.scc = 0
        self.ops = []
        self.busy = self.issued = 0
        before, at, wanted = start
        self.put_scalar(4, 2, kernarg + (1 << 15))  # the dispatch packet, where it is asked for
        self.put_scalar(before, 2, kernarg)
        for number, axis in zip(block, wanted):
            if axis:
                self.s[at] = number
                at += 1
        self.put_scalar(EXEC, 2, ALL)
        x, z = thread
        self.v[0] = [x + lane | z << 20 for lane in range(LANES)]

    # registers
    def put_scalar(self, at, count, value):
        for n in range(count):
            self.s[at + n] = value >> 32 * n & 0xffffffff

    def scalar(self, text, width=32):
        if text == "scc":
            return self.scc
        if re.match(r"[sv]c?c?c?\d*|exec|vcc|m0", text) and not text[0].isdigit():
            kind, at, count = register(text)
            assert kind == "s", text
            return sum(self.s[at + n] << 32 * n for n in range(min(count, width // 32)))
        return constant(text, f"i{width}") & (1 << width) - 1

    def read(self, text, kind):
        """The lanes of an operand, as integers."""
        wide = kind.endswith("64")
        if not is_register(text):
            return [self.cut(constant(text, kind), kind)] * LANES
        name, at, _ = register(text)
        if name == "s":
            return [self.cut(self.s[at] | (self.s[at + 1] << 32 if wide else 0), kind)] * LANES
        lanes = [a | b << 32 for a, b in zip(self.v[at], self.v[at + 1])] if wide else self.v[at]
        return [signed(x, int(kind[1:])) for x in lanes] if kind[0] == "i" else lanes

    @staticmethod
    def cut(value, kind):
        width = 64 if kind.endswith("64") else 32
        return signed(value, width) if kind[0] == "i" else value & (1 << width) - 1

    def write(self, text, lanes, width=32):
        _, at, _ = register(text)
        mask = self.mask()
        for word in range(width // 32):
            new = [x >> 32 * word & WORD for x in lanes]
            if mask != ALL:
                new = [x if mask >> n & 1 else old
                       for n, (x, old) in enumerate(zip(new, self.v[at + word]))]
            self.v[at + word] = new

    def mask(self, at=EXEC):
        return self.s[at] | self.s[at + 1] << 32

    # the notes
    def flush(self):
        if self.issued:
            self.ops.append(("C", self.busy, self.issued))
        self.busy = self.issued = 0

    def note(self, kind, addresses, size, hint):
        """One memory instruction: [(name of the memory, first byte, length)]; one piece where a
        row is read with gaps smaller than a cache line."""
        self.flush()
        pieces = []
        for address in sorted(set(addresses)):
            if pieces and address < pieces[-1][1] + pieces[-1][2] + GAP:
                pieces[-1][2] = max(pieces[-1][2], address + size - pieces[-1][1])
            else:
                pieces.append([None, address, size])
        for piece in pieces:
            home = [m for m in self.memory if m[0] <= piece[1] < m[0] + length_of(m)]
            if not home:
                raise Unknown(f"memory at {piece[1]:#x}")
            piece[0], piece[1] = home[0][2], piece[1] - home[0][0]
        if pieces:
            self.ops.append((kind, hint, pieces))

    def fetch(self, address, size):
        for first, content, _, fill in self.memory:
            length = content if isinstance(content, int) else len(content)
            if first <= address < first + length:
                if isinstance(content, int):
                    return bytes([fill]) * size
                return content[address - first:address - first + size].ljust(size, b"\0")
        raise Unknown(f"memory at {address:#x}")

    # the interpreter
    def run(self, most=2000000):
        n = 0
        for _ in range(most):
            address, name, text = self.program[n]
            if name == "s_endpgm":
                self.flush()
                return self.ops
            n += 1
            if name.startswith(("s_cbranch", "s_branch")):
                self.issued += CYCLES
                if self.jumps(name):
                    n = self.index[address + 4 + 4 * signed(int(text.split()[0]), 16)]
                continue
            args = [a.strip() for a in re.split(r",(?![^\[]*\])", text)]
            if name.startswith("s_"):
                self.step_scalar(name, args)
            elif name.startswith("v_"):
                cost = SLOW_CYCLES if SLOW.match(name) else CYCLES
                self.busy += cost
                self.issued += cost
                self.step_vector(name, args)
            else:
                self.step_memory(name, args)
        raise Unknown("no end of the program")

    def jumps(self, name):
        return {"s_branch": True, "s_cbranch_scc0": not self.scc, "s_cbranch_scc1": bool(self.scc),
                "s_cbranch_vccz": self.mask(VCC) == 0, "s_cbranch_vccnz": self.mask(VCC) != 0,
                "s_cbranch_execz": self.mask() == 0, "s_cbranch_execnz": self.mask() != 0}[name]

    def step_scalar(self, name, args):
        self.issued += CYCLES
        if name == "s_waitcnt":
            wait = re.search(r"vmcnt\((\d+)\)", args[0])
            self.flush()
            if wait:
                self.ops.append(("W", int(wait[1])))
            if "lgkmcnt" in args[0]:
                self.ops.append(("K",))
        elif name == "s_barrier":
            self.flush()
            self.ops.append(("B",))
        elif name.startswith("s_load"):
            count = int(name.split("dword")[1].lstrip("x") or 1)
            _, at, _ = register(args[0])
            offset = int(args[2], 0) if args[2][0].isdigit() else self.scalar(args[2])
            data = self.fetch(self.scalar(args[1], 64) + offset, 4 * count)
            self.flush()
            self.ops.append(("D", 0, SCALAR_LATENCY))
            self.s[at:at + count] = struct.unpack(f"<{count}I", data)
        elif name in ("s_nop", "s_setprio", "s_sleep", "s_inst_prefetch"):
            pass
        elif name.startswith("s_bitcmp"):
            value, bit = (self.scalar(x) for x in args)
            self.scc = int(value >> (bit & 31) & 1 == int(name[len("s_bitcmp")]))
        elif name.startswith("s_cmp"):
            _, test, kind = re.match(r"(s_cmp[k]?)_(\w+)_([iu]\d+)", name).groups()
            width = int(kind[1:])
            a, b = (self.scalar(x, width) for x in args)
            if kind[0] == "i":
                a, b = signed(a, width), signed(b, width)
            self.scc = int(bool(COMPARE[test](a, b)))
        else:
            self.compute_scalar(name, args)

    def compute_scalar(self, name, args):
        operation, suffix = re.match(r"s_(\w+?)_([biu]\d+)$", name).groups()
        width = int(suffix[1:])
        most = (1 << width) - 1
        _, at, count = register(args[0])
        values = [self.scalar(x, width) for x in args[1:]]
        if operation.endswith("_saveexec"):
            old = self.mask()
            self.put_scalar(at, 2, old)
            result = SCALAR[operation[:-len("_saveexec")]](values[0], old) & most
            self.scc = int(result != 0)
            self.put_scalar(EXEC, 2, result)
            return
        if operation in ("mov", "movk"):
            result = signed(values[0], 16) if operation == "movk" else values[0]
        elif operation == "cselect":
            result = values[0] if self.scc else values[1]
        elif operation in ("mulk", "addk"):
            old = self.scalar(args[0])
            number = signed(values[0], 16)
            result = old * number if operation == "mulk" else old + number
        elif operation == "mul_hi":
            kept = values if suffix[0] == "u" else [signed(x, 32) for x in values]
            result = kept[0] * kept[1] >> 32
        elif operation in ("addc", "subb"):
            result = values[0] + values[1] + self.scc if operation == "addc" else (
                values[0] - values[1] - self.scc)
            self.scc = int(result > most or result < 0)
        elif operation in ("lshl", "lshr", "ashr"):
            by = values[1] & width - 1
            result = (values[0] << by if operation == "lshl" else values[0] >> by
                      if operation == "lshr" else signed(values[0], width) >> by)
            self.scc = int(result & most != 0)
        elif operation == "bfe":
            result = values[0] >> (values[1] & 31) & ((1 << (values[1] >> 16 & 127)) - 1)
            self.scc = int(result != 0)
        elif operation == "not":
            result = ~values[0]
            self.scc = int(result & most != 0)
        elif operation in SCALAR:
            if suffix[0] == "i":
                values = [signed(x, width) for x in values]
            result = SCALAR[operation](*values)
            if suffix[0] == "b":
                self.scc = int(result & most != 0)
            elif operation in ("add", "sub") and suffix[0] == "u":
                self.scc = int(result > most or result < 0)
        else:
            raise Unknown(name)
        self.put_scalar(at, width // 32, result & most)

    def step_vector(self, name, args):
        if name.startswith("v_cmp"):
            return self.compare(name, args)
        if re.match(r"v_(add|sub|subrev|addc|subb|subbrev)_co", name):
            return self.carry(name, args)
        if name in ("v_mad_u64_u32", "v_mad_i64_i32"):
            kind = "u32" if name == "v_mad_u64_u32" else "i32"
            a, b, c = self.read(args[2], kind), self.read(args[3], kind), self.read(args[4], "u64")
            return self.write(args[0], [x * y + z for x, y, z in zip(a, b, c)], 64)
        if name == "v_cndmask_b32":
            chosen = self.mask(register(args[3])[1])
            a, b = self.read(args[1], "u32"), self.read(args[2], "u32")
            return self.write(args[0], [y if chosen >> n & 1 else x
                                        for n, (x, y) in enumerate(zip(a, b))])
        if name == "v_pk_mov_b32":
            picks = re.search(r"op_sel:\[(\d),(\d)\]", ",".join(args))
            low, high = (int(picks[n]) if picks else 0 for n in (1, 2))
            a, b = self.read(args[1], "u64"), self.read(args[2].split()[0], "u64")
            return self.write(args[0], [x >> 32 * low & WORD | (y >> 32 * high & WORD) << 32
                                        for x, y in zip(a, b)], 64)
        if name in ("v_readfirstlane_b32", "v_readlane_b32"):
            lane = (next((n for n in range(LANES) if self.mask() >> n & 1), 0)
                    if name == "v_readfirstlane_b32" else self.scalar(args[2]))
            return self.put_scalar(register(args[0])[1], 1, self.read(args[1], "u32")[lane])
        if name == "v_writelane_b32":
            lanes = list(self.v[register(args[0])[1]])
            lanes[self.scalar(args[2])] = self.scalar(args[1])
            self.v[register(args[0])[1]] = lanes
            return None
        if name == "v_mov_b32_dpp":
            return self.write(args[0], [0] * LANES)  # from other lanes: of the field
        if name not in VECTOR and DATA.match(name):
            return self.write(args[0], [0] * LANES, 64 if "64" in name or "_pk_" in name else 32)
        if name not in VECTOR:
            raise Unknown(name)
        kinds, function = VECTOR[name]
        kinds = kinds.split()
        values = [self.read(args[0], "u32") if k == "d" else
                  self.selected(args[1 + n].split()[0], k, n, args[-1])
                  for n, k in enumerate(kinds)]
        return self.write(args[0], [function(*lane) for lane in zip(*values)],
                          64 if name.endswith("64") else 32)

    def selected(self, text, kind, number, selects):
        """An operand, or the byte or half word of it that the instruction selects."""
        part = re.search(rf"src{number}_sel:(BYTE|WORD)_(\d)", selects)
        lanes = self.read(text.removeprefix("sext(").removesuffix(")"), "u32" if part else kind)
        if not part:
            return lanes
        width = 8 if part[1] == "BYTE" else 16
        lanes = [x >> width * int(part[2]) & (1 << width) - 1 for x in lanes]
        return [signed(x, width) for x in lanes] if "sext" in text else lanes

    def compare(self, name, args):
        test, kind = re.match(r"v_cmp_(\w+)_([iuf]\d+)", name).groups()
        found = 0  # of values of the field
        if kind[0] != "f":
            last, _, select = args[-1].partition(" ")
            cut = [0xff if f"src{n}_sel:BYTE_0" in select else WORD if kind != "u16" else 0xffff
                   for n in range(2)]
            a, b = self.read(args[-2], kind), self.read(last, kind)
            if kind == "u16":
                a, b = [x & cut[0] for x in a], [x & cut[1] for x in b]
            found = mask_of([COMPARE[test](x, y) for x, y in zip(a, b)]) & self.mask()
        self.put_scalar(register(args[0])[1], 2, found)

    def carry(self, name, args):
        operation = re.match(r"v_(\w+?)_co", name)[1]
        a, b = self.read(args[2], "u32"), self.read(args[3], "u32")
        a, b = (b, a) if "rev" in operation else (a, b)
        taken = lanes_of(self.mask(register(args[4])[1])) if len(args) > 4 else [0] * LANES
        sign = 1 if operation.startswith("add") else -1
        lanes = [x + sign * (y + t) for x, y, t in zip(a, b, taken)]
        out = mask_of([not 0 <= x <= WORD for x in lanes]) & self.mask()
        self.put_scalar(register(args[1])[1], 2, out)
        self.write(args[0], lanes)

    def step_memory(self, name, args):
        self.issued += CYCLES
        if name.startswith("ds_"):
            words = {"b32": 1, "b64": 2, "b128": 4, "u64": 2}.get(name.split("_")[-1], 1)
            words *= 2 if "2_" in name else 1
            self.flush()
            self.ops.append(("D", 2 * words, SHARED_LATENCY))  # 128 bytes per cycle
            if name.startswith(("ds_read", "ds_bpermute")):
                _, at, count = register(args[0])
                self.v[at:at + count] = [[0] * LANES] * count
            return
        if name.startswith("buffer_wb"):
            return
        part = re.match(r"global_(load|store|atomic)_?(\w*)", name)
        if not part:
            raise Unknown(name)
        stored = part[1] == "store"
        words = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}.get(part[2], 1)
        size = 1 if "byte" in part[2] else 2 if "short" in part[2] else 4 * words
        where, data = (args[0], args[1]) if part[1] != "load" else (args[1], args[0])
        if part[1] == "atomic" and not is_address(where):
            where, data = args[1], args[0]
        last = args[-1].split()
        offset = next((int(x[7:]) for x in last if x.startswith("offset:")), 0)
        base = self.read(where, "u64" if last[0] == "off" else "u32")
        base = base if last[0] == "off" else [x + self.scalar(last[0], 64) for x in base]
        addresses = [x + offset for x, on in zip(base, lanes_of(self.mask())) if on]
        self.note("L" if part[1] == "load" else "S", addresses, size,
                  int("slc" in last or stored and "glc" in last))
        if part[1] == "load":
            found = self.fetch(addresses[0], size) if addresses else b""
            self.write(data, [int.from_bytes(found, "little") ] * LANES, 32 * words)


def length_of(memory):
    return memory[1] if isinstance(memory[1], int) else len(memory[1])


def is_address(text):
    return text.startswith("v[")


def is_register(text):
    return re.match(r"([sv]\d+|[sv]\[|vcc|exec|m0)", text) is not None


def register(text):
    """(s or v, first, count)."""
    text = text.split()[0]
    special = {"vcc": ("s", VCC, 2), "exec": ("s", EXEC, 2), "vcc_lo": ("s", VCC, 1),
               "vcc_hi": ("s", VCC + 1, 1), "exec_lo": ("s", EXEC, 1),
               "exec_hi": ("s", EXEC + 1, 1),
               "m0": ("s", 124, 1)}
    if text in special:
        return special[text]
    part = re.match(r"([sv])\[(\d+):(\d+)\]", text)
    if part:
        return part[1], int(part[2]), int(part[3]) - int(part[2]) + 1
    return text[0], int(text[1:]), 1


def constant(text, kind):
    """The bits of an operand that is no register."""
    if "." in text:
        value = float(text)
        return (struct.unpack("<Q", struct.pack("<d", value))[0] if kind == "f64" else
                struct.unpack("<I", struct.pack("<f", value))[0])
    number = int(text, 0)
    return number << 32 if kind == "f64" and text.startswith("0x") else number
