// Where the project's files are, for tests that read them.
#pragma once

#include <string>

namespace takt::test {

/// The project's root folder. A function and not a macro, so that only one object depends on where the checkout lies:
/// compiler caches then serve every checkout.
std::string source_dir();

}  // namespace takt::test
