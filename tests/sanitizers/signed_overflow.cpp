// Adds past the largest int: UndefinedBehaviorSanitizer must report it, or it reports nothing about the kernel either.
#include <climits>

int main(int argumentCount, char**) {
  const volatile int largest = INT_MAX;
  return largest + argumentCount > 0 ? 1 : 0;
}
