// Two threads write one number without a lock: ThreadSanitizer must report it, or it reports nothing about the kernel either.
#include <cstdint>
#include <thread>

namespace {
uint32_t shared = 0;
}

int main() {
  std::thread other([] { shared += 1; });
  shared += 1;
  other.join();
  return static_cast<int>(shared) - 2;
}
