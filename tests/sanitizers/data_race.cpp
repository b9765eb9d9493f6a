// Two threads write the same numbers without a lock: ThreadSanitizer must report it, or it reports nothing about the kernel either.
//
// There are many numbers, because two writes of the very same moment can escape it.
#include <cstdint>
#include <thread>

namespace {
uint32_t shared[1000] = {};

void count() {
  for (uint32_t& number : shared) number += 1;
}
}  // namespace

int main() {
  std::thread other(count);
  count();
  other.join();
  return static_cast<int>(shared[0]) - 2;
}
