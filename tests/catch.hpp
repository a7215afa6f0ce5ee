// The one place that knows which Catch2 is installed: 2.13 (Debian 12, Ubuntu 24.04) or 3 (Debian 13).
#pragma once

#ifdef TAKT_CATCH2_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
