#!/usr/bin/env python3
"""Measures the NVIDIA cards of one server and writes the CSV that `takt calibrate` reads.

    python3 measure.py --card h200-nvl --out measured.csv      # needs PyTorch with CUDA; a few minutes
    takt calibrate measured.csv --out my-data/topologies/cards

This one file is all that the server needs. Rows are written as they are measured: an interrupted run goes on where it
stopped when it is started again with the same --out. What a card or a version of PyTorch cannot do is named on standard
error and left out. --list prints what would be measured, without a card.

One row a measurement; `value` is the median of several groups of runs, `spread` half of what lies between the fastest
and the slowest group over that median. Columns: kind,card,what,precision,shape,value,unit,spread

    kind        what                                        shape                                   value
    gemm        product: C[m,n] = A[m,k] B[n,k]^T           MxNxK                                   ms
    sustained   product, after 20 s of it                   MxNxK                                   ms
    memory      copy, triad, read, fill                     bytes read and written                  ms
    attention   FORM forward, FORM backward; all causal     BATCHxSEQUENCExHEADSxKV_HEADSxWIDTH     ms
                FORM: flash, cudnn, efficient, sdpa-mask, eager
    elementwise add, gelu, layer-norm, cast                 bytes read and written                  ms
    optimizer   adamw fused, adamw foreach                  elements                                ms
    dequantise  nf4 (needs bitsandbytes)                    weights                                 ms
    launch      kernel, eager, collective                   1                                       us of the CPU
    copy        "host>0", "0>host", "0>1", "0>1 1>0"        bytes of each transfer                  ms of all
    staged      the same between cards that are no peers    bytes of each transfer                  ms of all
    collective  all_gather, reduce_scatter, all_reduce      CARDSxBYTES, as nccl-tests counts       ms

Lines that start with # tell where the rows come from.
"""
import argparse
import contextlib
import itertools
import os
import statistics
import sys
import time

COLUMNS = ("kind", "card", "what", "precision", "shape", "value", "unit", "spread")
KINDS = ("gemm", "sustained", "memory", "attention", "elementwise", "optimizer", "dequantise", "launch", "copy", "collective")
MIB = 1 << 20

# Tokens of a micro-batch, and weights of decoder layers between 1B and 70B: small, square, wide and tall.
TOKENS = (256, 512, 1024, 2048, 4096, 8192)
WIDTHS = (1024, 2048, 4096, 5120, 8192, 14336, 28672)
SETTLING = 20.0  # seconds until a card keeps its clock
STREAMED = (512 * MIB, 2048 * MIB)  # bytes read and written: several times any L2
# (batch, sequence, heads, key and value heads, width)
ATTENTION = ((8, 1024, 32, 32, 128), (4, 2048, 32, 32, 128), (2, 4096, 32, 32, 128), (1, 8192, 32, 32, 128),
             (4, 2048, 32, 8, 128), (1, 8192, 64, 8, 128), (4, 2048, 16, 16, 64), (2, 4096, 16, 16, 64))
LONGEST_SCORES = 4096  # tokens up to which scores that stay in memory are measured
OPTIMIZED = (1 << 26, 1 << 28)
DEQUANTISED = (4096 * 4096, 8192 * 28672)
COPIED = 256 * MIB
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")
COLLECTIVE_BYTES = tuple(MIB << shift for shift in range(11))  # 1 MiB to 1 GiB


class Job:
    """One row to be: its key, the unit of its value, and how it is measured (a function of a Device: samples)."""

    def __init__(self, kind, what, precision, shape, measure, unit="ms"):
        self.kind, self.what, self.precision, self.unit, self.measure = kind, what, precision, unit, measure
        self.shape = "x".join(str(number) for number in shape)

    def key(self):
        return (self.kind, self.what, self.precision, self.shape)


def summary(samples):
    """(median, half of the range over the median) of some samples; shorter runs are never negative."""
    middle = statistics.median(samples)
    return middle, (max(samples) - min(samples)) / 2 / middle if middle > 0 else 0.0


class Sheet:
    """The CSV: rows are flushed one by one, rows that a file has already are known."""

    def __init__(self, stream, known=(), header=True):
        self.stream, self.known = stream, set(known)
        if header:
            self.line(",".join(COLUMNS))

    def line(self, text):
        self.stream.write(text + "\n")
        self.stream.flush()

    def row(self, card, job, value, spread):
        self.known.add(job.key())
        cells = (job.kind, card, job.what, job.precision, job.shape, f"{value:.6g}", job.unit, f"{spread:.4f}")
        self.line(",".join(cells))


def known_rows(text, card):
    """Keys of the rows of `card` that a file's text has."""
    rows = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    return {(r[0], r[2], r[3], r[4]) for r in rows if len(r) == len(COLUMNS) and r[1] == card and r[0] != COLUMNS[0]}


def open_sheet(path, card):
    """A new sheet on `path`, or one that goes on where the file stopped; a last line that was cut off is dropped."""
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        text = text[:text.rfind("\n") + 1]
    stream = open(path, "w", encoding="utf-8")
    stream.write(text)
    return Sheet(stream, known_rows(text, card), header=",".join(COLUMNS) not in text.splitlines())


class Device:
    """Card 0, and the ways in which something on it is timed."""

    def __init__(self, torch):
        self.torch = torch
        self.flush = None

    def on_card(self, run, groups=7, launches=4):
        """ms of one `run` in each of several groups, by the card's own clock; the L2 is flushed before each."""
        torch = self.torch
        if self.flush is None:
            self.flush = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda:0")  # larger than any L2
        for _ in range(3):
            run()
        samples = []
        for _ in range(groups):
            self.flush.zero_()
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(launches):
                run()
            stop.record()
            torch.cuda.synchronize()
            samples.append(start.elapsed_time(stop) / launches)
        return samples

    def on_host(self, run, wait, groups=5, launches=4):
        """ms of one `run` by the host's clock, until `wait` returns: for what several cards do."""
        run()
        wait()
        samples = []
        for _ in range(groups):
            start = time.perf_counter()
            for _ in range(launches):
                run()
            wait()
            samples.append((time.perf_counter() - start) * 1e3 / launches)
        return samples

    def to_issue(self, run, groups=7, launches=500):
        """us that the CPU needs to issue `run`: fewer launches than the card's queue holds, so that it never waits."""
        torch = self.torch
        for _ in range(launches):
            run()
        torch.cuda.synchronize()
        samples = []
        for _ in range(groups):
            start = time.perf_counter()
            for _ in range(launches):
                run()
            samples.append((time.perf_counter() - start) * 1e6 / launches)
            torch.cuda.synchronize()
        return samples


# ---- what is measured: each function makes jobs, and the jobs touch the device only when they are measured


def product_shapes():
    """(m, n, k): every pair of widths that some layer has, each with every number of tokens."""
    pairs = [(n, k) for n in WIDTHS for k in WIDTHS if n * k <= 8192 * 28672]
    return [(m, n, k) for n, k in pairs for m in TOKENS]


def bf16_product(device, m, n, k):
    torch = device.torch
    activations = torch.randn(m, k, device="cuda:0", dtype=torch.bfloat16)
    weight = torch.randn(n, k, device="cuda:0", dtype=torch.bfloat16)
    return device.on_card(lambda: torch.nn.functional.linear(activations, weight))


def fp8_product(device, m, n, k):
    """E4M3 with per-tensor scales, without the cast of the activations."""
    torch = device.torch
    activations = torch.randn(m, k, device="cuda:0").to(torch.float8_e4m3fn)
    weight = torch.randn(n, k, device="cuda:0").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda:0")
    return device.on_card(lambda: torch._scaled_mm(activations, weight.t(), scale_a=one, scale_b=one,
                                                   out_dtype=torch.bfloat16))


def gemm_jobs(options):
    kinds = [("bf16", bf16_product)] + ([("fp8", fp8_product)] if options.fp8 else [])
    for shape in product_shapes():
        for precision, measure in kinds:
            yield Job("gemm", "product", precision, shape, lambda device, s=shape, f=measure: f(device, *s))


def sustained_product(device, m, n, k):
    """The rate that is left when the card has settled on a clock."""
    torch = device.torch
    activations = torch.randn(m, k, device="cuda:0", dtype=torch.bfloat16)
    weight = torch.randn(n, k, device="cuda:0", dtype=torch.bfloat16)
    start = time.perf_counter()
    while True:
        samples = device.on_card(lambda: torch.nn.functional.linear(activations, weight), groups=5, launches=64)
        if time.perf_counter() - start >= SETTLING:
            return samples


def sustained_jobs(_options):
    shape = (8192, 8192, 8192)
    yield Job("sustained", "product", "bf16", shape, lambda device: sustained_product(device, *shape))


def streamed(device, what, traffic):
    torch = device.torch
    arrays = {"copy": 2, "triad": 3, "read": 1, "fill": 1}[what]
    a, b, c = ([torch.ones(traffic // arrays // 4, dtype=torch.float32, device="cuda:0") for _ in range(arrays)] +
               [None, None])[:3]
    run = {"copy": lambda: a.copy_(b), "triad": lambda: torch.add(b, c, alpha=3.0, out=a), "read": lambda: a.sum(),
           "fill": lambda: a.fill_(1.0)}[what]
    return device.on_card(run)


def memory_jobs(_options):
    for what, traffic in itertools.product(("copy", "triad", "read", "fill"), STREAMED):
        arrays = 3 if what == "triad" else 2 if what == "copy" else 1
        bytes_moved = traffic // arrays // 4 * 4 * arrays
        yield Job("memory", what, "fp32", (bytes_moved,), lambda device, w=what, t=traffic: streamed(device, w, t))


def attention(device, form, direction, shape):
    torch = device.torch
    batch, sequence, heads, kv_heads, width = shape

    def heads_of(count):
        return torch.randn(batch, count, sequence, width, device="cuda:0", dtype=torch.bfloat16, requires_grad=True)

    query, key, value = heads_of(heads), heads_of(kv_heads), heads_of(kv_heads)
    forward, context = attention_form(torch, form, query, key, value)
    with context():
        if direction == "forward":
            with torch.no_grad():
                return device.on_card(forward)
        output = forward()
        gradient = torch.randn_like(output)
        return device.on_card(lambda: torch.autograd.grad(output, (query, key, value), gradient, retain_graph=True))


def attention_form(torch, form, query, key, value):
    """(the forward pass, the context that picks its kernel)."""
    sequence, width = query.shape[2], query.shape[3]
    grouped = {"enable_gqa": True} if key.shape[1] != query.shape[1] else {}
    if form == "eager":
        mask = torch.full((sequence, sequence), float("-inf"), device="cuda:0", dtype=query.dtype).triu(1)

        def forward():
            scores = torch.matmul(query, key.transpose(2, 3)) * width**-0.5 + mask
            shares = torch.nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
            return torch.matmul(shares, value)

        return forward, contextlib.nullcontext
    name = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}.get(form, "EFFICIENT_ATTENTION")
    backend = getattr(torch.nn.attention.SDPBackend, name)  # older versions have not all of them
    attend = torch.nn.functional.scaled_dot_product_attention
    if form == "sdpa-mask":
        mask = torch.full((1, 1, sequence, sequence), float("-inf"), device="cuda:0", dtype=query.dtype).triu(1)
        return lambda: attend(query, key, value, attn_mask=mask), lambda: torch.nn.attention.sdpa_kernel([backend])
    return (lambda: attend(query, key, value, is_causal=True, **grouped),
            lambda: torch.nn.attention.sdpa_kernel([backend]))


def attention_jobs(_options):
    for form, shape in itertools.product(("flash", "cudnn", "efficient", "sdpa-mask", "eager"), ATTENTION):
        grouped, keeps_scores = shape[2] != shape[3], form in ("sdpa-mask", "eager")
        if (grouped and form not in ("flash", "cudnn")) or (keeps_scores and shape[1] > LONGEST_SCORES):
            continue
        for direction in ("forward", "backward"):
            yield Job("attention", f"{form} {direction}", "bf16", shape,
                      lambda device, f=form, d=direction, s=shape: attention(device, f, d, s))


ELEMENT_BYTES = {"add": 6, "gelu": 4, "layer-norm": 4, "cast": 6}  # read and written, of a BF16 element


def elementwise(device, what, traffic):
    torch = device.torch
    width = 4096
    rows = traffic // ELEMENT_BYTES[what] // width
    a = torch.randn(rows, width, device="cuda:0", dtype=torch.bfloat16)
    b = torch.randn(rows, width, device="cuda:0", dtype=torch.bfloat16) if what == "add" else None
    run = {"add": lambda: a + b, "gelu": lambda: torch.nn.functional.gelu(a),
           "layer-norm": lambda: torch.nn.functional.layer_norm(a, (width,)),
           "cast": lambda: a.to(torch.float32)}[what]
    with torch.no_grad():
        return device.on_card(run)


def elementwise_jobs(_options):
    for what, traffic in itertools.product(ELEMENT_BYTES, STREAMED):
        bytes_moved = traffic // ELEMENT_BYTES[what] // 4096 * 4096 * ELEMENT_BYTES[what]
        yield Job("elementwise", what, "bf16", (bytes_moved,), lambda device, w=what, t=traffic: elementwise(device, w, t))


def optimizer_step(device, form, elements):
    torch = device.torch
    tensors = 16
    parameters = [torch.randn(elements // tensors, device="cuda:0", requires_grad=True) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    adamw = torch.optim.AdamW(parameters, lr=1e-4, fused=form == "fused", foreach=form == "foreach")
    return device.on_card(adamw.step)


def optimizer_jobs(_options):
    for form, elements in itertools.product(("fused", "foreach"), OPTIMIZED):
        yield Job("optimizer", f"adamw {form}", "fp32", (elements,),
                  lambda device, f=form, e=elements: optimizer_step(device, f, e))


def dequantised(device, weights):
    import bitsandbytes.functional as quantising
    torch = device.torch
    weight = torch.randn(weights // 4096, 4096, device="cuda:0", dtype=torch.bfloat16)
    packed, state = quantising.quantize_4bit(weight, quant_type="nf4", compress_statistics=True)
    return device.on_card(lambda: quantising.dequantize_4bit(packed, state))


def dequantise_jobs(_options):
    for weights in DEQUANTISED:
        yield Job("dequantise", "nf4", "bf16", (weights,), lambda device, w=weights: dequantised(device, w))


def launch_jobs(_options):
    def eager(device):
        one = device.torch.ones(1, device="cuda:0")
        return device.to_issue(lambda: one.add_(1.0))

    yield Job("launch", "kernel", "", (1,), lambda device: device.to_issue(lambda: device.torch.cuda._sleep(0)), "us")
    yield Job("launch", "eager", "", (1,), eager, "us")


def copied(device, transfers):
    """Transfers of COPIED bytes at once, each on a stream of the card that sends (or takes from the host)."""
    torch = device.torch

    def place(end):
        if end == "host":
            return torch.empty(COPIED, dtype=torch.uint8, pin_memory=True)
        return torch.empty(COPIED, dtype=torch.uint8, device=f"cuda:{end}")

    pairs, cards = [], set()
    for source, target in transfers:
        card = int(target if source == "host" else source)
        cards |= {int(end) for end in (source, target) if end != "host"}
        pairs.append((torch.cuda.Stream(device=card), place(source), place(target)))

    def run():
        for stream, source, target in pairs:
            with torch.cuda.stream(stream):
                target.copy_(source, non_blocking=True)

    def wait():
        for card in sorted(cards):
            torch.cuda.synchronize(card)

    return device.on_host(run, wait)


def copy_jobs(options):
    """Each card and its host, then each pair of cards: one way, the other, both at once."""
    cards = [str(card) for card in range(options.cards)]
    transfers = []
    for a, b in [("host", card) for card in cards] + list(itertools.combinations(cards, 2)):
        transfers += [[(a, b)], [(b, a)], [(a, b), (b, a)]]
    for group in transfers:
        what = " ".join(f"{source}>{target}" for source, target in group)
        direct = "host" in group[0] or options.peers(int(group[0][0]), int(group[0][1]))
        yield Job("copy" if direct else "staged", what, "", (COPIED,), lambda device, g=group: copied(device, g))


def collective_jobs(options):
    """Measured by a process for each card: see measure_collectives."""
    for ranks in sorted({ranks for ranks in (2, 4, options.cards) if 2 <= ranks <= options.cards}):
        yield Job("launch", "collective", "", (1,), None, "us")
        for what, size in itertools.product(COLLECTIVES, COLLECTIVE_BYTES):
            yield Job("collective", what, "bf16", (ranks, size), None)


def collective_call(torch, what, ranks, size):
    """A call of `what` over `ranks` cards, of `size` bytes as nccl-tests counts them, in this rank's process."""
    distributed = torch.distributed
    elements = size // 2 // ranks  # of each card; a few of the whole are left over where the cards do not divide it
    whole = torch.zeros(elements * ranks, dtype=torch.bfloat16, device="cuda")
    share = torch.zeros(elements, dtype=torch.bfloat16, device="cuda")
    return {"all_gather": lambda: distributed.all_gather_into_tensor(whole, share),
            "reduce_scatter": lambda: distributed.reduce_scatter_tensor(share, whole),
            "all_reduce": lambda: distributed.all_reduce(whole)}[what]


def collective_process(rank, ranks, jobs, path):
    """One of `ranks` processes: all measure, rank 0 writes lines "job number,samples..." to `path`."""
    import torch
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=ranks)
    device = Device(torch)

    def barrier():
        torch.distributed.barrier()
        torch.cuda.synchronize()

    for number, (kind, what, size) in enumerate(jobs):
        call = collective_call(torch, "all_reduce" if kind == "launch" else what, ranks, size)
        barrier()
        if kind == "launch":
            samples = device.to_issue(call, launches=100)
        else:
            samples = device.on_host(call, torch.cuda.synchronize, groups=7, launches=20 if size < 64 * MIB else 5)
        if rank == 0:
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(",".join(map(str, [number, *samples])) + "\n")
    torch.distributed.destroy_process_group()


def measure_collectives(torch, jobs, sheet, card):
    """Rows of the jobs that the sheet does not know, a group of processes for each number of cards."""
    import tempfile
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29521")
    missing = [job for job in jobs if job.key() not in sheet.known]
    for ranks in sorted({int(job.shape.split("x")[0]) for job in missing if job.kind == "collective"}):
        group = [job for job in missing if job.kind == "collective" and job.shape.startswith(f"{ranks}x")]
        if ranks == 2:
            group = [job for job in missing if job.kind == "launch"][:1] + group
        calls = [(job.kind, job.what, int(job.shape.split("x")[-1]) if job.kind == "collective" else MIB) for job in group]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            try:
                torch.multiprocessing.spawn(collective_process, args=(ranks, calls, path), nprocs=ranks)
            except Exception as problem:  # what was measured before stays
                print(f"measure.py: collectives over {ranks} cards stopped: {first_line(problem)}", file=sys.stderr)
            for line in open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []:
                number, *samples = line.split(",")
                sheet.row(card, group[int(number)], *summary([float(sample) for sample in samples]))


JOBS = {"gemm": gemm_jobs, "sustained": sustained_jobs, "memory": memory_jobs, "attention": attention_jobs, "elementwise": elementwise_jobs,
        "optimizer": optimizer_jobs, "dequantise": dequantise_jobs, "launch": launch_jobs, "copy": copy_jobs,
        "collective": collective_jobs}


def jobs_of(options):
    """Every job that is asked for, each key once."""
    seen = set()
    for kind in options.only:
        for job in JOBS[kind](options):
            if job.key() not in seen:
                seen.add(job.key())
                yield job


def first_line(problem):
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def measure(torch, options, sheet):
    """Measures what the sheet does not know. What fails is named and left out."""
    device = Device(torch)
    together = []
    for job in jobs_of(options):
        if job.key() in sheet.known:
            continue
        if job.measure is None:
            together.append(job)
            continue
        try:
            sheet.row(options.card, job, *summary(job.measure(device)))
        except BrokenPipeError:  # nobody reads the rows any more
            raise
        except Exception as problem:  # no kernel for this shape, no memory, no bitsandbytes: the others go on
            print(f"measure.py: no {' '.join(job.key())}: {first_line(problem)}", file=sys.stderr)
        torch.cuda.empty_cache()
    del device
    if together:
        measure_collectives(torch, together, sheet, options.card)


def provenance(torch, options):
    """Remarks on where the rows come from."""
    properties = torch.cuda.get_device_properties(0)
    yield f"# measured with PyTorch {torch.__version__}, CUDA {torch.version.cuda}, on {time.strftime('%Y-%m-%d')}"
    yield f"# {options.cards} x {properties.name}, {properties.total_memory // MIB} MiB, as {options.card}"


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card", help="the card's id in topologies/cards, e.g. h200-nvl")
    parser.add_argument("--out", help="the CSV file; if it exists, go on where it stopped (default: standard output)")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds to measure, of " + ",".join(KINDS))
    parser.add_argument("--fp8", action="store_true", help="also products in FP8")
    parser.add_argument("--cards", type=int, help="how many cards take part in copies and collectives (default: all)")
    parser.add_argument("--list", action="store_true", help="print kind,what,precision,shape of each row and stop")
    options = parser.parse_args(arguments)
    wanted = [kind.strip() for kind in options.only.split(",") if kind.strip()]
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown:
        parser.error(f"--only: nothing of the kind {', '.join(unknown)} is measured; kinds are {','.join(KINDS)}")
    if not wanted:
        parser.error("--only names no kind: " + ",".join(KINDS))
    options.only = [kind for kind in KINDS if kind in wanted]
    if options.cards is not None and options.cards < 1:
        parser.error(f"--cards {options.cards}: at least one card takes part")
    if not options.list and not options.card:
        parser.error("--card is needed: the card's id in topologies/cards")
    return options


def main(arguments=None):
    options = parsed(arguments)
    options.peers = lambda a, b: True
    if options.list:
        options.cards = options.cards or 1
        for job in jobs_of(options):
            print(*job.key(), sep=",")
        return 0
    try:
        import torch
    except ImportError:
        print("measure.py needs PyTorch with CUDA: pip install torch", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("measure.py: PyTorch sees no CUDA card", file=sys.stderr)
        return 1
    options.cards = min(options.cards or torch.cuda.device_count(), torch.cuda.device_count())
    options.peers = torch.cuda.can_device_access_peer
    sheet = open_sheet(options.out, options.card) if options.out else Sheet(sys.stdout)
    for remark in provenance(torch, options):
        sheet.line(remark)
    measure(torch, options, sheet)
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered still has to go somewhere
        status = 0
    sys.exit(status)
