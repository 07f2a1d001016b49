"""Random inductor wrappers in the dialects of five torch versions, with the live peak computed separately."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

TYPES = {"float32": 4, "float16": 2, "int64": 8, "uint8": 1}


@dataclass(frozen=True)
class Dialect:
    """The syntax of a torch version for an allocation, a kernel call, a view, and the enclosing function."""

    allocate: str
    kernel: str
    device: str = "cuda"
    view: str = "reinterpret_tensor({}, ({}, ), (1, ), 0)"
    has_runner: bool = False


_STRIDED_CPU, _STRIDED_CUDA = (f"empty_strided_{device}(({{}}, ), (1, ), torch.{{}})" for device in ("cpu", "cuda"))
_TRITON = "triton_poi_0.run({}, 4, stream=stream0)"
_OLD_STRIDED = "empty_strided(({}, ), (1, ), device='cpu', dtype=torch.{})"
DIALECTS = {
    "2.0": Dialect(_OLD_STRIDED, "cpp_fused_0({})", "cpu", view="as_strided({}, ({}, ), (1, ))"),
    "2.2": Dialect("empty(({}, ), device='cuda', dtype=torch.{})", "triton_0.run({}, grid=grid(4), stream=stream0)"),
    "2.4": Dialect(_STRIDED_CPU, "cpp_fused_0({})", "cpu"),
    "2.7": Dialect(_STRIDED_CUDA, _TRITON),
    "2.12": Dialect(_STRIDED_CUDA, _TRITON, has_runner=True),
}


@dataclass(frozen=True)
class Wrapper:
    """A wrapper, the total bytes of its storages, and its live peak; `wrong` is the wrapper with one illegal reuse."""

    code: bytes
    storages: int
    live: int
    wrong: bytes


def draw_wrapper(seed: int, version: str) -> Wrapper:
    """Return a random chain of kernels, some of them external, that read randomly chosen earlier buffers."""
    draw, how = random.Random(f"{version} {seed}"), DIALECTS[version]
    dtype = draw.choice([*TYPES])
    count = draw.randint(5, 9)
    elements = [draw.randint(1, 9) * 8 for _ in range(count)]
    reads = [sorted({k - 1, draw.randrange(k)}) if k else [] for k in range(count)]
    reads[-1] = sorted({0, *reads[-1]})
    last = [max([i, *(j for j in range(count) if i in reads[j])]) for i in range(count)]
    is_extern = [draw.random() < 0.3 for _ in range(count)]
    victim, thief = draw.choice([(i, k) for i in range(count) for k in range(i + 1, last[i])])

    def statements(thief: int | None) -> Iterator[str]:
        """Yield the statements; kernel `thief`, if given, overwrites the victim's bytes before their last read."""
        for k in range(count):
            names = ", ".join(["arg0_1", *(f"buf{i}" for i in reads[k])])
            if k == thief:
                yield f"buf{k} = {how.view.format(f'buf{victim}', elements[k])}  # reuse"
                yield how.kernel.format(f"{names}, buf{k}")
            elif is_extern[k]:
                yield f"buf{k} = extern_kernels.convolution({names}, stride=(1, 1))"
                yield f"assert_size_stride(buf{k}, ({elements[k]}, ), (1, ))"
            else:
                yield f"buf{k} = {how.allocate.format(elements[k], dtype)}"
                yield how.kernel.format(f"{names}, buf{k}")
            if gone := [f"buf{i}" for i in range(k) if last[i] == k]:
                yield f"del {', '.join(gone)}"
        yield f"return (buf{count - 1}, )"

    size = [n * TYPES[dtype] for n in elements]
    live = max(sum(size[i] for i in range(k + 1) if last[i] >= k) for k in range(count))
    right, wrong = (_wrapper_bytes(how, dtype, [*statements(name)]) for name in (None, thief))
    return Wrapper(right, sum(size), live, wrong)


def _wrapper_bytes(how: Dialect, dtype: str, lines: list[str]) -> bytes:
    """Return the file with a function `call`; in a dialect with a runner, its body is in a partition."""
    head = ["# AOT ID: ['0_inference']", "import torch", "from torch._inductor.async_compile import AsyncCompile"]
    example = f"arg0_1 = rand_strided((8, ), (1, ), device='{how.device}:0', dtype=torch.{dtype})"
    foot = ["def benchmark_compiled_module():", f"    {example}", "    return call([arg0_1])"]
    begin = ["arg0_1, = args", "args.clear()"]
    if not how.has_runner:
        inner = ["stream0 = get_raw_stream(0)", *lines]
        body = [*begin, "with torch.cuda._DeviceGuard(0):", *(f"    {line}" for line in inner)]
        return "\n".join([*head, "def call(args):", *(f"    {line}" for line in body), *foot]).encode()
    result = lines[-1].removeprefix("return ")
    calls = [*begin, "partition0_args = [arg0_1]", f"{result} = self.partitions[0](partition0_args)", lines[-1]]
    rows = [*head, "def partition_0(args):", *(f"    {line}" for line in [*begin, *lines]), "class Runner:"]
    rows += ["    def __init__(self, partitions):", "        self.partitions = partitions", "    def call(self, args):"]
    return "\n".join([*rows, *(f"        {line}" for line in calls), *foot]).encode()
