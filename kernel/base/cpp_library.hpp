// What most sources take of the C++ library. The build with Zig compiles these headers once for all of them (tools/_compiler.ts), which saves a
// sixth of its time. No source includes this file: each includes what it uses, so that it also compiles without.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
