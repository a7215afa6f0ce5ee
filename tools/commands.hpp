// The subcommands of takt. A new command is a file of its own with a function here and a line in commands.cpp.
#pragma once

#include "command.hpp"

#include <span>

namespace takt {

Command run_command();
Command compare_command();
Command sweep_command();
Command merge_command();
Command check_command();
Command fit_command();
Command topo_show_command();
Command topo_check_command();
Command topo_import_command();
Command topo_export_command();
Command topo_measure_compare_command();
Command collective_command();
Command validate_command();
Command explain_command();
Command kernel_command();
Command calibrate_command();
Command import_command();
Command completion_command();

/// All of them, in the order of `takt --help`.
std::span<const Command> commands();

}  // namespace takt
