// replay_recordings FILE...: a published library under recorded calls, on the system that it was built for.
//
// targets_test.ts compiles this for a target, links it with the library of the package, and runs it by an emulator. Each call must give
// the bytes that it gave on the machine that recorded it (tests/kernel/operations_recording.hpp).
#include <cstdio>

#include "tests/kernel/operations_recording.hpp"

int main(int argumentCount, char** arguments) {
  int failures = 0;
  long calls = 0;
  for (int index = 1; index < argumentCount; ++index) {
    exrp::test::Recording recording;
    failures += recording.replay(arguments[index]);
    calls += recording.calls();
  }
  std::printf("%d recordings, %ld calls, %d failed\n", argumentCount - 1, calls, failures);
  return failures == 0 ? 0 : 1;
}
