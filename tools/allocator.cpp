// The home of mimalloc: linking this object makes a program allocate through it, in large pages where the system has them.
// A run touches its memory once. With pages of 4 KiB the faults of doing so took more than half of the time of large
// runs on virtual machines.
#include <mimalloc.h>

namespace {

bool ask_for_large_pages() {
  mi_option_set_enabled_default(mi_option_large_os_pages, true);  // MIMALLOC_LARGE_OS_PAGES=0 takes it back
  return true;
}

[[maybe_unused]] const bool asked = ask_for_large_pages();

}  // namespace
