#include "workload/precision.hpp"

#include "base/contract.hpp"

namespace takt {

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp8:
      return "fp8";
    case Precision::nvfp4:
      return "nvfp4";
    case Precision::mxfp8:
      return "mxfp8";
  }
  unreachable("precision without a name");
}

std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32, Precision::tf32, Precision::fp8,
                                    Precision::nvfp4, Precision::mxfp8}) {
    if (name_of(precision) == name) return precision;
  }
  return std::nullopt;
}

double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::bf16:
    case Precision::fp16:
      return 2.0;
    case Precision::fp32:
    case Precision::tf32:
      return 4.0;
    case Precision::fp8:
      return 1.0;
    case Precision::nvfp4:
      return 0.5 + 1.0 / 16.0;
    case Precision::mxfp8:
      return 1.0 + 1.0 / 32.0;
  }
  unreachable("precision without a size");
}

bool is_narrow(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::nvfp4 || precision == Precision::mxfp8;
}

Precision activation_precision(Precision precision) {
  return is_narrow(precision) ? Precision::bf16 : precision;
}

Precision reduce_precision(const FinetuneSettings& finetune) {
  if (finetune.reduce_precision) return *finetune.reduce_precision;
  return finetune.method == Method::full ? Precision::fp32 : finetune.lora.adapter_precision;
}

double activation_bytes(Precision precision) {
  return operand_bytes(activation_precision(precision));
}

}  // namespace takt
