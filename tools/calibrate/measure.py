#!/usr/bin/env python3
"""Measures matrix products on one NVIDIA card and writes the CSV that `takt calibrate` reads.

    python3 tools/calibrate/measure.py --card h200-nvl > products.csv     # needs PyTorch with CUDA; a few minutes
    takt calibrate products.csv --out my-data/topologies/cards

Each product is C[m,n] = A[m,k] B[k,n] with the weight transposed, as torch.nn.Linear runs it. Times are the median of
several timed groups of launches (CUDA events), after warming up and with the L2 cache flushed before each group. BF16
always; FP8 (E4M3, per-tensor scales) with --fp8, without the quantisation of the inputs. --list prints the shapes alone.
"""
import argparse
import statistics
import sys

HEADER = "card,precision,m,n,k,ms"
# Tokens of a micro-batch, and weights of decoder layers between 1B and 70B: small, square, wide and tall.
TOKENS = (256, 512, 1024, 2048, 4096, 8192)
WIDTHS = (1024, 2048, 4096, 5120, 8192, 14336, 28672)


def shapes():
    """(m, n, k) of the sweep: every pair of widths that some layer has, each with every number of tokens."""
    pairs = [(n, k) for n in WIDTHS for k in WIDTHS if n * k <= 8192 * 28672]
    return [(m, n, k) for n, k in pairs for m in TOKENS]


def milliseconds(torch, run, flush, groups=7, launches=4):
    """Median time of one launch of `run`, in ms."""
    for _ in range(3):
        run()
    times = []
    for _ in range(groups):
        flush.zero_()
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(launches):
            run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / launches)
    return statistics.median(times)


def bf16_product(torch, m, n, k):
    activations = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return lambda: torch.nn.functional.linear(activations, weight)


def fp8_product(torch, m, n, k):
    activations = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    weight = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(activations, weight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card", help="the card's id in topologies/cards, e.g. h200-nvl")
    parser.add_argument("--fp8", action="store_true", help="also products in FP8")
    parser.add_argument("--list", action="store_true", help="print the shapes (m,n,k) and measure nothing")
    options = parser.parse_args()
    if options.list:
        for shape in shapes():
            print(*shape, sep=",")
        return 0
    if not options.card:
        parser.error("--card is needed: the card's id in topologies/cards")
    try:
        import torch
    except ImportError:
        print("measure.py needs PyTorch with CUDA: pip install torch", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("measure.py: PyTorch sees no CUDA card", file=sys.stderr)
        return 1
    kinds = [("bf16", bf16_product)] + ([("fp8", fp8_product)] if options.fp8 else [])
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")  # larger than any L2
    print(HEADER)
    for m, n, k in shapes():
        for precision, product in kinds:
            time = milliseconds(torch, product(torch, m, n, k), flush)
            print(f"{options.card},{precision},{m},{n},{k},{time:.6f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
