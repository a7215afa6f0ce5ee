#include "commands.hpp"

namespace takt {

std::span<const Command> commands() {
  static const std::vector<Command> all = {run_command(),
                                           compare_command(),
                                           sweep_command(),
                                           merge_command(),
                                           check_command(),
                                           fit_command(),
                                           topo_show_command(),
                                           topo_check_command(),
                                           topo_import_command(),
                                           topo_export_command(),
                                           topo_measure_compare_command(),
                                           collective_command(),
                                           kernel_command(),
                                           validate_command(),
                                           calibrate_command(),
                                           import_command(),
                                           explain_command(),
                                           completion_command()};
  return all;
}

}  // namespace takt
