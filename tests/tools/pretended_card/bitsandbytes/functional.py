"""The two functions of bitsandbytes that measure.py calls."""
import torch


def quantize_4bit(weight, quant_type, compress_statistics):
    return weight, None


def dequantize_4bit(packed, state):
    weights = packed.size() / packed.dtype
    torch.clock.launch(torch.START + weights * (2 + 4.127 / 8) / (torch.DEQUANTISING * torch.BANDWIDTH))
