// One card, no communication: forward and backward of every micro-batch, then the optimizer.
#include "plan/step.hpp"

namespace takt {

WrittenStep write_single_card_step(const StepInput& input) {
  const Workload& workload = input.workload;
  ProgramBuilder builder(builder_options(input.scenario));
  const StreamId compute = builder.stream(StreamKind::compute, "compute");
  BlockWriter blocks(builder, workload, compute);
  const BlockSizes model = model_sizes(workload);
  builder.resident(MemoryCategory::weights, model.frozen_weights + model.trainable_weights);
  builder.resident(MemoryCategory::optimizer, model.optimizer);

  std::vector<std::vector<Kernel>> accumulate;
  for (const BlockKind& kind : workload.kinds) accumulate.push_back(accumulate_kernels(input.pricer, kind));

  for (std::int64_t micro_step = 0; micro_step < input.scenario.batch.gradient_accumulation; ++micro_step) {
    for (std::size_t block = 0; block < workload.blocks.size(); ++block) blocks.forward(block);
    for (std::size_t block = workload.blocks.size(); block-- > 0;) {
      if (!workload.block(block).has_backward) continue;
      if (micro_step == 0) {
        builder.allocate(compute, MemoryCategory::gradients, block_sizes(workload, workload.block(block)).gradients);
      }
      blocks.backward(block);
      if (micro_step > 0) builder.kernels(compute, accumulate[workload.blocks[block]], "accumulate");
    }
    write_loss_read_back(builder, compute, input);
  }
  write_clipping(builder, compute, input, model.trainable_elements, std::nullopt);
  write_optimizer(builder, compute, input, model.trainable_elements, model.gradients);
  return {std::move(builder).finish(), {}, model.total()};
}

}  // namespace takt
