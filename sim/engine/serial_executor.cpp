#include "engine/executor.hpp"

namespace takt {
namespace {

class SerialExecutor final : public Executor {
 public:
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  void for_each_kept(std::size_t count, const std::function<void(std::size_t)>& body) override { for_each(count, body); }
  void stream(std::size_t, const OrderedStages& stages) override {
    while (stages.next(0)) {
      stages.work(0);
      stages.finish(0);
    }
  }
  std::size_t threads() const override { return 1; }
};

}  // namespace

std::unique_ptr<Executor> make_serial_executor() {
  return std::make_unique<SerialExecutor>();
}

}  // namespace takt
