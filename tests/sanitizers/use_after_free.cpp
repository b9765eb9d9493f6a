// Reads memory that was freed: AddressSanitizer must report it, or it reports nothing about the kernel either.
#include <cstdint>

int main(int argumentCount, char**) {
  volatile uint32_t* const numbers = new uint32_t[4]{};
  delete[] numbers;
  return static_cast<int>(numbers[argumentCount]);
}
