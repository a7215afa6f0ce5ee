"""A pretended PyTorch on a pretended server, for tests of tools/calibrate/measure.py: nothing is computed, and every
call moves a virtual clock by what a card with the rates below would take. So a CSV that measure.py writes has known
answers, which `takt calibrate` must find again.
"""
import contextlib
import time
import types

PEAK = 835.5e12  # FLOP/s of an H200 NVL in BF16, of which the pretended card reaches:
PRODUCT, FORWARD, BACKWARD = 0.60, 0.40, 0.30
SUSTAINED, HOT = 0.90, 5.0  # of the rate of products, after so many seconds of them
BANDWIDTH = 4.8e12  # bytes/s, of which it reaches:
STREAMING, DEQUANTISING = 0.80, 0.25
START = 4e-6  # seconds that every kernel takes at least
KERNEL, EAGER, COLLECTIVE = 5e-6, 12e-6, 30e-6  # seconds of the CPU to launch one
HOST_LINK, CARD_LINK, BOTH_WAYS = 50e9, 120e9, 200e9  # bytes/s
RING, RING_START = 100e9, 30e-6  # bytes/s that a card sends to each other in a collective, seconds that it takes at least
CARDS = 4

__version__ = "pretended"
version = types.SimpleNamespace(cuda="none")
float32, bfloat16, float8_e4m3fn, uint8 = 4, 2, 1, "uint8"


class Clock:
    """The CPU's time, and until when each stream of each card is busy."""

    def __init__(self):
        self.cpu, self.busy, self.stream = 0.0, {}, None

    def launch(self, seconds, cpu=EAGER, card=0):
        self.cpu += cpu
        stream = self.stream or card
        self.busy[stream] = max(self.cpu, self.busy.get(stream, 0.0)) + seconds

    def wait(self):
        self.cpu = max([self.cpu, *self.busy.values()])


clock = Clock()
warm = {"flops": 0.0, "seconds": 0.0}
flights = {}  # until when copies go from one card to another
time.perf_counter = lambda: clock.cpu


def stream_bytes(count):
    clock.launch(START + count / (STREAMING * BANDWIDTH))


class Tensor:
    def __init__(self, *shape, dtype=float32, device="cuda:0", grad=None):
        self.shape, self.dtype, self.device, self.backward = tuple(shape), dtype, str(device), grad
        self.grad = None

    def size(self):
        count = 1
        for length in self.shape:
            count *= length
        return count * (1 if self.dtype == uint8 else self.dtype)

    def like(self, **changes):
        return Tensor(*self.shape, dtype=changes.get("dtype", self.dtype), device=self.device)

    def copy_(self, source, non_blocking=False):
        ends = {self.device.split(":")[0], source.device.split(":")[0]}
        if self.device == source.device:
            stream_bytes(2 * self.size())
            return self
        way, back = (source.device, self.device), (self.device, source.device)
        rate = HOST_LINK if "cpu" in ends else BOTH_WAYS / 2 if flights.get(back, 0.0) > clock.cpu else CARD_LINK
        clock.launch(self.size() / rate, cpu=KERNEL)
        flights[way] = clock.busy[clock.stream]
        return self

    def zero_(self):
        stream_bytes(self.size())
        return self

    def fill_(self, _value):
        return self.zero_()

    def add_(self, _value):
        stream_bytes(2 * self.size())
        return self

    def sum(self):
        stream_bytes(self.size())
        return Tensor()

    def to(self, dtype):
        stream_bytes(self.size() + self.like(dtype=dtype).size())
        return self.like(dtype=dtype)

    def __add__(self, _other):
        stream_bytes(3 * self.size())
        return self.like()

    def __mul__(self, _number):
        stream_bytes(2 * self.size())
        return self.like()

    def t(self):
        return Tensor(*reversed(self.shape), dtype=self.dtype)

    def triu(self, _diagonal):
        return self

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return Tensor(*shape, dtype=self.dtype)


def made(*shape, dtype=float32, device="cuda:0", pin_memory=False, requires_grad=False):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return Tensor(*shape, dtype=dtype, device="cpu" if pin_memory else device)


randn = ones = zeros = empty = made


def full(shape, _value, dtype=float32, device="cuda:0"):
    return Tensor(*shape, dtype=dtype, device=device)


def randn_like(tensor):
    return tensor.like()


def add(b, c, alpha, out):
    stream_bytes(3 * out.size())
    return out


def product(flops, dtype=bfloat16):
    """Of equal products in a row, those after HOT seconds are slower."""
    warm["seconds"] = warm["seconds"] if warm["flops"] == flops else 0.0
    warm["flops"] = flops
    rate = PRODUCT * PEAK * (2 if dtype == float8_e4m3fn else 1) * (SUSTAINED if warm["seconds"] > HOT else 1.0)
    clock.launch(START + flops / rate)
    warm["seconds"] += flops / rate


def matmul(a, b):
    batch = a.size() // a.dtype // a.shape[-1]
    flops = 2.0 * batch * a.shape[-1] * b.shape[-1]
    product(flops)
    return Tensor(*a.shape[:-1], b.shape[-1], dtype=a.dtype, grad=START + 4.0 * flops / (PRODUCT * PEAK))


def _scaled_mm(a, b, scale_a, scale_b, out_dtype):
    product(2.0 * a.shape[0] * a.shape[1] * b.shape[1], float8_e4m3fn)


def linear(a, weight):
    product(2.0 * a.shape[0] * a.shape[1] * weight.shape[0])


def softmax(scores, dim, dtype):
    stream_bytes(3 * scores.size())
    return scores.like(dtype=dtype)


def scaled_dot_product_attention(query, key, value, attn_mask=None, is_causal=False, enable_gqa=False):
    batch, heads, sequence, width = query.shape
    if key.shape[1] != heads and not enable_gqa:
        raise RuntimeError("the heads differ")
    backend = attention.chosen
    if backend == "cudnn" and width == 64:
        raise RuntimeError("no kernel of cuDNN for this width")
    flops = 4.0 * batch * heads * width * sequence * sequence * (0.5 if is_causal else 1.0)
    slower = {"flash": 1.0, "cudnn": 0.7, "efficient": 1.6}[backend]
    clock.launch(START + slower * flops / (FORWARD * PEAK))
    output = query.like()
    output.backward = START + slower * 2.5 * flops / (BACKWARD * PEAK)
    return output


@contextlib.contextmanager
def sdpa_kernel(backends):
    attention.chosen = backends[0]
    yield


attention = types.SimpleNamespace(
    chosen=None, sdpa_kernel=sdpa_kernel,
    SDPBackend=types.SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cudnn", EFFICIENT_ATTENTION="efficient"))
nn = types.SimpleNamespace(
    attention=attention,
    functional=types.SimpleNamespace(
        linear=linear, softmax=softmax, scaled_dot_product_attention=scaled_dot_product_attention,
        gelu=lambda a: stream_bytes(2 * a.size()), layer_norm=lambda a, shape: stream_bytes(2 * a.size())))
autograd = types.SimpleNamespace(
    grad=lambda output, inputs, gradient, retain_graph: clock.launch(output.backward or START))
no_grad = contextlib.nullcontext


class AdamW:
    """28 bytes of an FP32 parameter fused; PyTorch's foreach form passes over it several times."""

    def __init__(self, parameters, lr, fused, foreach):
        self.bytes = sum(p.size() // 4 for p in parameters) * (28 if fused else 60)

    def step(self):
        stream_bytes(self.bytes)


optim = types.SimpleNamespace(AdamW=AdamW)


class Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self):
        self.at = max(clock.cpu, clock.busy.get(clock.stream or 0, 0.0))

    def elapsed_time(self, stop):
        return (stop.at - self.at) * 1e3


class Stream:
    def __init__(self, device):
        self.device = device


@contextlib.contextmanager
def on_stream(stream):
    before, clock.stream = clock.stream, stream
    yield
    clock.stream = before


cuda = types.SimpleNamespace(
    Event=Event, Stream=Stream, stream=on_stream, synchronize=lambda card=0: clock.wait(), is_available=lambda: True,
    device_count=lambda: CARDS, can_device_access_peer=lambda a, b: True, empty_cache=lambda: None,
    set_device=lambda card: None, _sleep=lambda cycles: clock.launch(START / 4, cpu=KERNEL),
    get_device_properties=lambda card: types.SimpleNamespace(name="a pretended card", total_memory=141 << 30))

world = 1


def ring(passes, size):
    clock.launch(RING_START + passes * size / world / RING, cpu=COLLECTIVE)  # each card to world - 1 others


def init_process_group(backend, rank, world_size):
    global world
    world = world_size


distributed = types.SimpleNamespace(
    init_process_group=init_process_group, destroy_process_group=lambda: None, barrier=lambda: None,
    all_gather_into_tensor=lambda whole, share: ring(1, whole.size()),
    reduce_scatter_tensor=lambda share, whole: ring(1, whole.size()), all_reduce=lambda whole: ring(2, whole.size()))
multiprocessing = types.SimpleNamespace(spawn=lambda run, args, nprocs: run(0, *args))
